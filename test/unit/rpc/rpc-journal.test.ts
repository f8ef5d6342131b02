import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import type { JournalEntry } from '../../../src/rpc/journal-entries.ts';
import { JOURNAL_FORMAT, JournalFile } from '../../../src/rpc/journal-file.ts';
import { requestKey } from '../../../src/rpc/request-key.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { sealJson } from '../../../src/store/sealed-json.ts';
import { type JsonObject, parseJson } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

const pulse = (id: number, durationMs = 100): RpcRequest => ({
  id,
  method: 'pulse',
  params: { name: 'relay', durationMs },
});
const reply = { result: { value: true } };
const PATH = '/state/rpc-journal.jsonl';
const HEADER = JSON.stringify(JOURNAL_FORMAT);
/** Kind and request id of each record. */
const recordsOf = (content: Buffer): unknown[] =>
  content
    .toString()
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => parseJson(line) as JsonObject)
    .map(({ kind, id }) => [kind, id]);

let clock: FakeClock;
let storage: MemoryJournalStorage;
/** The earlier request that this one is, or may be. */
const find = (journal: RpcJournal, request: RpcRequest): JournalEntry | undefined => {
  const recollection = journal.recall(request);
  return recollection.verdict === 'new' ? undefined : recollection.earlier;
};
/** A file that says that these were moved. */
const pastOf = async (...requests: readonly RpcRequest[]): Promise<Buffer> => {
  const past = new MemoryJournalStorage();
  const journal = await open(past);
  for (const request of requests) await journal.intend(request);
  return past.content;
};
const open = (from = storage): Promise<RpcJournal> => RpcJournal.open({ file: from.file, clock, log: silentLog });

beforeEach(() => {
  clock = new FakeClock();
  storage = new MemoryJournalStorage();
});

describe('the RPC journal', () => {
  it('has an intent on disk before intend resolves', async () => {
    const journal = await open();
    await journal.intend(pulse(0), { from: false });
    const entry = find(await open(storage.afterPowerCut()), pulse(0));
    expect(entry).toMatchObject({ id: 0, effect: 'move', note: { from: false } });
    expect(entry?.reply).toBeUndefined();
  });

  it('keeps the reply of a movement through a kill', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    await journal.flush();
    expect(find(await open(storage.afterKill()), pulse(0))?.reply).toEqual(reply);
  });

  it('writes nothing for reads, but knows them as long as it lives', async () => {
    const journal = await open();
    const request: RpcRequest = { id: 1, method: 'getStatus', params: {} };
    journal.complete(request, 'read', reply);
    await journal.flush();
    expect(find(journal, request)?.reply).toEqual(reply);
    expect(storage.calls).toEqual(['replace']);
  });

  it('refuses a movement whose intent takes over a second, and says so at once while the disk still hangs', async () => {
    const journal = await open();
    let release = (): void => {};
    storage.beforeSync = () => new Promise((resolve) => (release = resolve));
    let refused = '';
    void journal.intend(pulse(0)).catch(({ code }: { readonly code: string }) => {
      refused = code;
    });
    await clock.advance(999);
    expect(refused).toBe('');
    await clock.advance(1);
    expect(refused).toBe('rpc/disk-stalled');
    await expect(journal.intend(pulse(1))).rejects.toMatchObject({ code: 'rpc/disk-stalled' });
    release();
    storage.beforeSync = async () => {};
    await clock.advance(0);
    await journal.intend(pulse(2));
  });

  it('refuses a movement whose intent cannot be written, and writes the file anew for the next one', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    storage.failAppend = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    await expect(journal.intend(pulse(1))).rejects.toMatchObject({ code: 'rpc/disk-failed' });
    await journal.intend(pulse(2));
    const ids = [pulse(0), pulse(2)].map((request) =>
      open(storage.afterPowerCut()).then((after) => find(after, request)?.id),
    );
    expect(await Promise.all(ids)).toEqual([0, 2]);
    expect(storage.calls.at(-1)).toBe('replace');
  });

  it('keeps of a name what a person needs', async () => {
    const journal = await open();
    const request = { ...pulse(0), method: 'm'.repeat(1_000_000) };
    await journal.intend(request);
    await journal.flush();
    expect(storage.content.length).toBeLessThan(2_000);
    expect((await open(storage.afterKill())).recall(request)).toMatchObject({
      verdict: 'same',
      earlier: { method: 'm'.repeat(100) },
    });
  });

  it('moves nothing that must not move twice while its past cannot be read, and leaves the file as it is', async () => {
    storage.content = Buffer.from('the past');
    storage.read = () => Promise.reject(new Error('EIO'));
    const journal = await open();
    await expect(journal.intend(pulse(0))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    journal.complete(pulse(1), 'set', reply);
    await journal.close();
    expect([find(journal, pulse(1))?.reply, storage.content.toString()]).toEqual([reply, 'the past']);
  });

  it('sees again when its file can be read again, and knows then what was done before', async () => {
    await (await open()).intend(pulse(0));
    storage = storage.afterKill();
    const { read } = storage;
    storage.read = () => Promise.reject(new Error('EMFILE'));
    const journal = await open();
    await expect(journal.intend(pulse(5, 500))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    journal.complete(pulse(1, 200), 'set', reply);
    storage.read = read;
    await expect(journal.intend(pulse(5, 500))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    expect(journal.recall(pulse(0)).verdict).toBe('new');
    await clock.advance(5_000);
    // It may be what was done before.
    await expect(journal.intend(pulse(0))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    expect([journal.recall(pulse(0)).verdict, find(journal, pulse(1, 200))?.reply]).toEqual(['undecidable', reply]);
    await journal.intend(pulse(5, 500));
    const after = await open(storage.afterPowerCut());
    expect([pulse(0), pulse(1, 200), pulse(5, 500)].map((request) => find(after, request)?.id)).toEqual([0, 1, 5]);
  });

  it.each(['boot-1', 'boot-2'])(
    'knows of what it reads late, in %s, that the platform has restarted since',
    async (bootId) => {
      clock = new FakeClock({ bootId: 'boot-1' });
      storage.content = await pastOf(pulse(3));
      clock.reboot({ bootId, monotonicMs: 600_000 });
      const { read } = storage;
      storage.read = () => Promise.reject(new Error('EIO'));
      const journal = await open();
      for (const durationMs of [200, 300]) journal.complete(pulse(0, durationMs), 'set', reply);
      expect(journal.recall(pulse(0, 400)).verdict).toBe('new');
      storage.read = read;
      await clock.advance(5_000);
      await journal.intend(pulse(5, 500));
      expect([journal.recall(pulse(4)).verdict, journal.recall(pulse(3)).verdict]).toEqual([
        'undecidable',
        'undecidable',
      ]);
    },
  );

  it('knows the newer of what was done before and what was done while its file could not be read', async () => {
    storage.content = await pastOf(pulse(0));
    const { read } = storage;
    storage.read = () => Promise.reject(new Error('EIO'));
    const journal = await open();
    journal.complete(pulse(0), 'move', reply);
    storage.read = read;
    await clock.advance(5_000);
    await journal.intend(pulse(5, 500));
    expect([find(journal, pulse(0))?.reply, find(await open(storage.afterPowerCut()), pulse(0))?.reply]).toEqual([
      reply,
      reply,
    ]);
  });

  it('moves at the first command after its file can be read again', async () => {
    storage.content = await pastOf(pulse(0));
    const { read } = storage;
    storage.read = () => Promise.reject(new Error('EIO'));
    const journal = await open();
    storage.read = read;
    await clock.advance(5_000);
    await journal.intend(pulse(5, 500));
    expect(find(await open(storage.afterPowerCut()), pulse(5, 500))?.id).toBe(5);
  });

  it('starts within ten seconds where its file hangs, and waits a second for it at a movement', async () => {
    storage.content = await pastOf(pulse(0));
    const { read } = storage;
    let release = (): void => {};
    let reads = 0;
    storage.read = async () => {
      reads += 1;
      await new Promise<void>((resolve) => (release = resolve));
      return read.call(storage);
    };
    const opening = open();
    await clock.advance(10_000);
    const journal = await opening;
    const refused = expect(journal.intend(pulse(5, 500))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    await clock.advance(1_000);
    await refused;
    expect(reads).toBe(1);
    release();
    await clock.advance(0);
    expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
    await journal.intend(pulse(6, 600));
  });

  it('sets a file aside for a person whose records are none, and goes on', async () => {
    const entry = { kind: 'entry', key: '0:x', id: 0, method: 'm', effect: 'move', seenAtMs: 0, bootId: 'boot-1' };
    const answered = { kind: 'answered', key: '0:x', answeredAtMs: 1, bootId: 'boot-1' };
    const odd: JsonObject[] = [
      { n: 1 },
      { ...entry, key: null },
      { ...entry, kind: 'jump' },
      { ...entry, id: '0' },
      { ...entry, method: 5 },
      { ...entry, effect: 'jump' },
      { ...entry, seenAtMs: '0' },
      { ...entry, bootId: null },
      { ...answered, key: 5 },
      { ...answered, answeredAtMs: '1' },
      { kind: 'boot', bootId: 'boot-1' },
    ];
    for (const one of odd) {
      storage = new MemoryJournalStorage(Buffer.from([HEADER, sealJson(one), sealJson(answered), ''].join('\n')));
      const journal = await open();
      expect(storage.aside?.toString()).toContain(sealJson(one));
      await journal.intend(pulse(3));
      await journal.close();
      expect(recordsOf(storage.content)).toEqual([
        ['boot', undefined],
        ['entry', 3],
        ['boot', undefined],
      ]);
    }
  });

  it('writes no more than is needed, and closes once', async () => {
    const journal = await open();
    await journal.flush();
    await journal.flush();
    expect(storage.calls).toEqual(['replace']);
    journal.complete(pulse(1), 'set', reply);
    await journal.flush();
    expect(storage.calls).toEqual(['replace', 'append', 'sync']);
    journal.complete(pulse(2), 'set', reply);
    await clock.advance(0);
    await journal.flush();
    await journal.close();
    expect(storage.calls.slice(3)).toEqual(['append', 'sync']);
    await journal.close();
    expect(storage.calls.length).toBe(5);
  });

  it('closes though the disk takes nothing more', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    storage.failAppend = new Error('no space');
    await journal.close();
    expect(find(await open(storage.afterPowerCut()), pulse(0))?.id).toBe(0);
  });

  it('opens on a full disk, refuses movements there, and takes them when there is room', async () => {
    let isFull = true;
    storage.beforeSync = async () => {
      if (isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    };
    const journal = await open();
    await expect(journal.intend(pulse(0))).rejects.toMatchObject({ code: 'rpc/disk-failed' });
    isFull = false;
    await journal.intend(pulse(1));
    expect(find(await open(storage.afterPowerCut()), pulse(1))?.id).toBe(1);
  });

  it('stays small on disk: what is past goes when the file has grown', async () => {
    const journal = await open();
    for (let id = 0; id < 8_000; id += 1) {
      journal.complete(pulse(id), 'set', { result: { text: 'x'.repeat(100) } });
      journal.answered(pulse(id));
      if (id % 100 === 0) await clock.advance(4_000);
    }
    await journal.flush();
    expect(storage.content.length).toBeLessThan(3 * 1024 * 1024);
    const rewrites = storage.calls.filter((call) => call === 'replace').length;
    expect([rewrites > 4, rewrites < 8]).toEqual([true, true]);
    expect(find(await open(storage.afterKill()), pulse(7_999))).toBeDefined();
  }, 20_000);

  it('opens after a power cut at any byte, with every synced intent', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    await journal.intend(pulse(1));
    journal.complete(pulse(1), 'move', reply);
    await clock.advance(0);
    const unsynced = storage.content.length - storage.synced;
    expect(unsynced).toBeGreaterThan(0);
    for (let kept = 0; kept <= unsynced; kept += 1) {
      const after = await open(storage.afterPowerCut(kept));
      expect(find(after, pulse(0))).toBeDefined();
      expect(find(after, pulse(1))?.reply === undefined).toBe(kept < unsynced);
    }
  });
});

describe('the journal file', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-journal-'));
    path = join(folder, 'rpc-journal.jsonl');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const openFile = (): Promise<RpcJournal> =>
    RpcJournal.open({ file: new JournalFile(systemFiles, path), clock, log: silentLog });

  it('is found again by the next process, its torn tail cut off, and is read by its owner alone', async () => {
    const journal = await openFile();
    await journal.intend(pulse(0));
    await journal.intend(pulse(1));
    const { length } = await readFile(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await journal.close();
    await truncate(path, length - 3);
    const second = await openFile();
    expect([find(second, pulse(0))?.id, find(second, pulse(1))?.id]).toEqual([0, undefined]);
    await second.intend(pulse(2));
    await second.close();
    const third = await openFile();
    expect([find(third, pulse(0))?.id, find(third, pulse(2))?.id]).toEqual([0, 2]);
    await third.close();
  });

  it('is set aside when it cannot be one for its size, and read up to that', async () => {
    for (const [bytes, paths] of [
      [32 * 1024 * 1024, [PATH]],
      [32 * 1024 * 1024 + 1, [PATH, `${PATH}.corrupt`]],
    ] as const) {
      const files = new MemoryFiles();
      files.put(PATH, Buffer.concat([Buffer.from(`${HEADER}\n`)], bytes));
      const journal = await RpcJournal.open({ file: new JournalFile(files, PATH), clock, log: silentLog });
      await journal.intend(pulse(0));
      await journal.close();
      expect(files.paths).toEqual(paths);
    }
  });

  it('is set aside for a person when it is of a later release, of which nothing is believed', async () => {
    const past = (await pastOf(pulse(0))).toString();
    const later = past.replace(HEADER, JSON.stringify({ ...JOURNAL_FORMAT, version: JOURNAL_FORMAT.version + 1 }));
    storage = new MemoryJournalStorage(Buffer.from(later));
    expect(find(await open(), pulse(0))).toBeUndefined();
    expect(storage.aside?.toString()).toBe(later);
  });

  it('is set aside for a person when a single byte of it is too many, and what can be read of it goes on', async () => {
    const [header, boot, ...rest] = (await pastOf(pulse(0))).toString().split('\n');
    const content = Buffer.from([header, boot, '\0', ...rest].join('\n'));
    storage = new MemoryJournalStorage(content);
    expect(find(await open(), pulse(0))?.id).toBe(0);
    expect(storage.aside).toEqual(content);
  });

  it('is set aside for a person when it is damaged, and what can be read of it goes on', async () => {
    const journal = await openFile();
    for (let id = 0; id < 3; id += 1) await journal.intend(pulse(id));
    await journal.close();
    const bytes = await readFile(path);
    bytes.fill(0xff, 120, 140);
    await writeFile(path, bytes);
    const second = await openFile();
    expect(find(second, pulse(2))?.id).toBe(2);
    await second.close();
    expect((await readdir(folder)).sort()).toEqual(['rpc-journal.jsonl', 'rpc-journal.jsonl.corrupt']);
  });

  it('keeps what was synced, and a replacement, over a power cut', async () => {
    const files = new MemoryFiles();
    const journal = await RpcJournal.open({ file: new JournalFile(files, PATH), clock, log: silentLog });
    await journal.intend(pulse(0));
    journal.complete(pulse(1), 'set', reply);
    await clock.advance(0);
    files.cutPower(() => false);
    const after = await RpcJournal.open({ file: new JournalFile(files, PATH), clock, log: silentLog });
    expect([find(after, pulse(0))?.id, find(after, pulse(1))]).toEqual([0, undefined]);
  });

  it('is opened beside a former one that cannot be a journal', async () => {
    await mkdir(join(folder, 'rpc.journal'));
    const file = new JournalFile(systemFiles, path, join(folder, 'rpc.journal'));
    const journal = await RpcJournal.open({ file, clock, log: silentLog });
    await journal.intend(pulse(0));
    await journal.close();
  });

  it('knows what the release before did, also after a rollback, and leaves its file for that', async () => {
    const former = join(folder, 'rpc.journal');
    const entry = { id: 0, method: 'pulse', effect: 'move', seenAtMs: 0, bootId: 'boot-1' };
    const frames = [
      frameOf(1, { format: 'turnstone/rpc-journal', version: 1, bootId: 'boot-1', atMs: 0 }),
      frameOf(2, { ...entry, key: requestKey(pulse(0)) }),
      Buffer.from('TSRJ and damage'),
      frameOf(3, { ...entry, key: requestKey(pulse(1)), id: 1, reply }),
      frameOf(4, { key: requestKey(pulse(1)), answeredAtMs: 5, bootId: 'boot-1' }),
      frameOf(5, { ...entry, key: requestKey(pulse(2)), id: 2 }).subarray(0, -1),
    ];
    await writeFile(former, Buffer.concat(frames));
    const openBoth = (): Promise<RpcJournal> =>
      RpcJournal.open({ file: new JournalFile(systemFiles, path, former), clock, log: silentLog });
    const journal = await openBoth();
    expect([0, 1, 2].map((id) => find(journal, pulse(id)))).toMatchObject([
      { id: 0 },
      { id: 1, reply, answeredAtMs: 5 },
      undefined,
    ] as unknown[]);
    await journal.close();
    expect(await readFile(former)).toEqual(Buffer.concat(frames));
    // The release before was in force again meanwhile.
    await writeFile(former, frameOf(3, { ...entry, key: requestKey(pulse(7)), id: 7, reply }));
    const again = await openBoth();
    expect([find(again, pulse(1))?.reply, find(again, pulse(7))?.reply]).toEqual([reply, reply]);
    await again.close();
  });

  it('takes the same content of a former one once: it ages with the rest', async () => {
    const former = join(folder, 'rpc.journal');
    const entry = { id: 0, method: 'pulse', effect: 'move', seenAtMs: 0, bootId: 'boot-0', key: requestKey(pulse(0)) };
    await writeFile(former, frameOf(2, entry));
    const starts: (JournalEntry | undefined)[] = [];
    for (let boot = 1; boot <= 300; boot += 1) {
      clock = new FakeClock({ bootId: `boot-${boot}` });
      const file = new JournalFile(systemFiles, path, former);
      const journal = await RpcJournal.open({ file, clock, log: silentLog });
      starts.push(find(journal, pulse(0)));
      await journal.close();
    }
    expect([starts[0]?.id, starts.at(-1)]).toEqual([0, undefined]);
  });
});

/** A frame of the release before. */
function frameOf(kind: number, payload: JsonObject): Buffer {
  const text = Buffer.from(JSON.stringify(payload));
  const bytes = Buffer.concat([Buffer.from('TSRJ\u0001\0\0\0', 'latin1'), Buffer.alloc(8), text]);
  bytes.writeUInt8(kind, 5);
  bytes.writeUInt32LE(text.length, 8);
  bytes.writeUInt32LE(crc32(text, crc32(bytes.subarray(4, 12))), 12);
  return bytes;
}
