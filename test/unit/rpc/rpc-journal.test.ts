import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import type { JournalEntry } from '../../../src/rpc/journal-entries.ts';
import { decodeFrames, encodeFrame, type Frame, JOURNAL_HEAD } from '../../../src/rpc/journal-frames.ts';
import { JournalFile } from '../../../src/rpc/journal-storage.ts';
import { requestKey } from '../../../src/rpc/request-key.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

const pulse = (id: number, durationMs = 100): RpcRequest => ({
  id,
  method: 'pulse',
  params: { name: 'relay', durationMs },
});
const reply = { result: { value: true } };

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
const open = (from = storage): Promise<RpcJournal> => RpcJournal.open({ storage: from, clock, log: silentLog });

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

  it('passes over frames that are no entries', async () => {
    const entry = { key: '0:x', id: 0, method: 'm', effect: 'move', bootId: 'boot-1' };
    const { key: _, ...noKey } = entry;
    const payloads: JsonObject[] = [
      {},
      noKey,
      { ...entry, id: '0' },
      { ...entry, method: 5 },
      { ...entry, effect: 'jump' },
      { ...entry, bootId: null },
    ];
    const frames: Frame[] = [
      ...payloads.map((payload) => ({ kind: 'intent', payload }) as const),
      ...[
        {},
        { key: 5, answeredAtMs: 1, bootId: 'b' },
        { key: '1:y', answeredAtMs: 1, bootId: 'b' },
        { key: '0:x', answeredAtMs: '1', bootId: 'b' },
      ].map((payload) => ({ kind: 'answered', payload }) as const),
    ];
    storage = new MemoryJournalStorage(Buffer.concat(frames.map(encodeFrame)));
    const journal = await open();
    await journal.intend(pulse(3));
    await journal.close();
    expect(decodeFrames(storage.content).frames.map(({ kind, payload }) => [kind, payload.id])).toEqual([
      ['head', undefined],
      ['intent', 3],
      ['head', undefined],
    ]);
  });

  it('takes up what an earlier release wrote, at the time at which its reply was taken', async () => {
    const entry = { id: 0, method: 'pulse', effect: 'move', bootId: 'boot-1', reply, note: { from: true } };
    const old = (request: RpcRequest, more: JsonObject): Frame => ({
      kind: 'entry',
      payload: { ...entry, key: requestKey(request), ...more },
    });
    const taken = { key: requestKey(pulse(0, 200)), answeredAtMs: 9_000, bootId: 'boot-1' };
    const nonsense = [{ answeredAtMs: '9000' }, { bootId: 5 }, { key: 5 }].map(
      (part): Frame => ({ kind: 'answered', payload: { ...taken, ...part } }),
    );
    const frames = [old(pulse(0), { answeredAtMs: 9_000 }), old(pulse(0, 200), {}), ...nonsense];
    storage = new MemoryJournalStorage(Buffer.concat(frames.map(encodeFrame)));
    const journal = await open();
    await clock.advance(598_999);
    expect(journal.recall(pulse(0))).toMatchObject({
      verdict: 'undecidable',
      earlier: { answeredAtMs: 9_000, seenAtMs: 9_000, reply, note: { from: true } },
    });
    await clock.advance(1);
    expect([journal.recall(pulse(0)).verdict, journal.recall(pulse(0, 200))]).toMatchObject([
      'new',
      { verdict: 'undecidable', earlier: { seenAtMs: 0 } },
    ]);
  });

  it('writes no more than is needed, and closes once', async () => {
    const journal = await open();
    let closes = 0;
    storage.close = async () => {
      closes += 1;
    };
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
    expect([storage.calls.slice(3), closes]).toEqual([['append', 'sync'], 1]);
    await journal.close();
    expect([storage.calls.length, closes]).toEqual([5, 1]);
  });

  it('closes its file though the disk takes nothing more', async () => {
    const journal = await open();
    let closes = 0;
    storage.close = async () => {
      closes += 1;
    };
    await journal.intend(pulse(0));
    storage.failAppend = new Error('no space');
    await journal.close();
    expect(closes).toBe(1);
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
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-journal-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const openFile = (): Promise<RpcJournal> =>
    RpcJournal.open({ storage: new JournalFile(systemFiles, join(folder, 'rpc.journal')), clock, log: silentLog });

  it('is found again by the next process, its torn tail cut off', async () => {
    const journal = await openFile();
    await journal.intend(pulse(0));
    await journal.intend(pulse(1));
    const path = join(folder, 'rpc.journal');
    const { length } = await readFile(path);
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
    const path = '/state/rpc.journal';
    for (const [bytes, paths] of [
      [32 * 1024 * 1024, [path]],
      [32 * 1024 * 1024 + 1, [path, `${path}.corrupt`]],
    ] as const) {
      const files = new MemoryFiles();
      files.put(path, Buffer.concat([encodeFrame(JOURNAL_HEAD)], bytes));
      const journal = await RpcJournal.open({ storage: new JournalFile(files, path), clock, log: silentLog });
      await journal.intend(pulse(0));
      await journal.close();
      expect(files.paths).toEqual(paths);
    }
  });

  it('is set aside for a person when a single line of it is of a later release, or a single byte is too many', async () => {
    const later = encodeFrame({ kind: 'entry', payload: {} });
    later.writeUInt8(2, 4);
    later.writeUInt32LE(crc32(later.subarray(16), crc32(later.subarray(4, 12))), 12);
    for (const odd of [later, Buffer.of(0)]) {
      const content = Buffer.concat([await pastOf(pulse(0)), odd, encodeFrame(JOURNAL_HEAD)]);
      storage = new MemoryJournalStorage(content);
      expect(find(await open(), pulse(0))?.id).toBe(0);
      expect(storage.aside).toEqual(content);
    }
  });

  it('is not written to any more under the name it has when it is set aside', async () => {
    const files = new MemoryFiles();
    const file = new JournalFile(files, '/state/rpc.journal');
    await file.append(Buffer.from('before'));
    await file.setAside();
    await file.append(Buffer.from('after'));
    await file.close();
    expect(files.contentOf('/state/rpc.journal.corrupt').toString()).toBe('before');
    expect(files.contentOf('/state/rpc.journal').toString()).toBe('after');
  });

  it('is set aside for a person when it is damaged, and what can be read of it goes on', async () => {
    const journal = await openFile();
    for (let id = 0; id < 3; id += 1) await journal.intend(pulse(id));
    await journal.close();
    const path = join(folder, 'rpc.journal');
    const bytes = await readFile(path);
    bytes.fill(0xff, 120, 140);
    await writeFile(path, bytes);
    const second = await openFile();
    expect(find(second, pulse(2))?.id).toBe(2);
    await second.close();
    expect((await readdir(folder)).sort()).toEqual(['rpc.journal', 'rpc.journal.corrupt']);
  });
});
