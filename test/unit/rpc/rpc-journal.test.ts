import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import { JournalFile } from '../../../src/rpc/journal-storage.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryJournalStorage } from '../../support/memory-journal-storage.ts';

const pulse = (id: number, durationMs = 100): RpcRequest => ({ id, method: 'pulse', params: { name: 'relay', durationMs } });
const reply = { result: { value: true } };

let clock: FakeClock;
let storage: MemoryJournalStorage;
const open = (from = storage): Promise<RpcJournal> => RpcJournal.open({ storage: from, clock, log: silentLog });

beforeEach(() => {
  clock = new FakeClock();
  storage = new MemoryJournalStorage();
});

describe('the RPC journal', () => {
  it('has an intent on disk before intend resolves', async () => {
    const journal = await open();
    await journal.intend(pulse(0), { from: false });
    const entry = (await open(storage.afterPowerCut())).find(pulse(0));
    expect(entry).toMatchObject({ id: 0, effect: 'move', note: { from: false } });
    expect(entry?.reply).toBeUndefined();
  });

  it('keeps the reply of a movement through a kill', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    await journal.flush();
    expect((await open(storage.afterKill())).find(pulse(0))?.reply).toEqual(reply);
  });

  it('writes nothing for reads, but knows them as long as it lives', async () => {
    const journal = await open();
    const request: RpcRequest = { id: 1, method: 'getStatus', params: {} };
    journal.complete(request, 'read', reply);
    await journal.flush();
    expect(journal.find(request)?.reply).toEqual(reply);
    expect(storage.calls).toEqual(['replace']);
  });

  it('takes the same id with other content, or other params order, for what it is', async () => {
    const journal = await open();
    journal.complete(pulse(3), 'move', reply);
    expect(journal.find(pulse(3, 200))).toBeUndefined();
    expect(journal.isRestart(pulse(3, 200))).toBe(true);
    expect(journal.find({ id: 3, method: 'pulse', params: { durationMs: 100, name: 'relay' } })).toBeDefined();
    expect(journal.isRestart(pulse(4))).toBe(false);
  });

  it('recognises a repeat until 30 s after its reply was taken, and not after', async () => {
    const journal = await open();
    journal.complete(pulse(0), 'move', reply);
    await clock.advance(3_600_000);
    expect(journal.find(pulse(0))).toBeDefined();
    journal.answered(pulse(0));
    await clock.advance(29_999);
    expect(journal.find(pulse(0))).toBeDefined();
    await clock.advance(1);
    expect(journal.find(pulse(0))).toBeUndefined();
  });

  it('keeps the window across a restart of the process', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    journal.answered(pulse(0));
    await journal.flush();
    await clock.advance(20_000);
    const second = await open(storage.afterKill());
    expect(second.find(pulse(0))).toBeDefined();
    await clock.advance(10_000);
    expect(second.find(pulse(0))).toBeUndefined();
  });

  it('refuses a movement whose intent takes over a second, and says so at once while the disk still hangs', async () => {
    const journal = await open();
    let release = (): void => {};
    storage.beforeSync = () => new Promise((resolve) => (release = resolve));
    const refused = expect(journal.intend(pulse(0))).rejects.toMatchObject({ code: 'rpc/disk-stalled' });
    await clock.advance(1_000);
    await refused;
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
    const ids = [pulse(0), pulse(2)].map((request) => open(storage.afterPowerCut()).then((after) => after.find(request)?.id));
    expect(await Promise.all(ids)).toEqual([0, 2]);
    expect(storage.calls.at(-1)).toBe('replace');
  });

  it('never forgets a movement within its window, however many requests come, and refuses more than it can hold', async () => {
    const journal = await open();
    for (let id = 0; id < 4095; id += 1) journal.complete(pulse(id), 'move', reply);
    for (let id = 5_000; id < 6_000; id += 1) journal.complete({ id, method: 'getStatus', params: {} }, 'read', reply);
    expect(journal.find(pulse(0))).toBeDefined();
    await journal.intend(pulse(4095));
    await expect(journal.intend(pulse(4096))).rejects.toMatchObject({ code: 'rpc/journal-full' });
    for (let id = 0; id < 4096; id += 1) journal.answered(pulse(id));
    await clock.advance(30_000);
    await journal.intend(pulse(4097));
  });

  it('moves nothing that must not move twice while its past cannot be read, and leaves the file as it is', async () => {
    storage.content = Buffer.from('the past');
    storage.read = () => Promise.reject(new Error('EIO'));
    const journal = await open();
    await expect(journal.intend(pulse(0))).rejects.toMatchObject({ code: 'rpc/journal-unusable' });
    journal.complete(pulse(1), 'set', reply);
    await journal.close();
    expect([journal.find(pulse(1))?.reply, storage.content.toString()]).toEqual([reply, 'the past']);
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
    expect((await open(storage.afterPowerCut())).find(pulse(1))?.id).toBe(1);
  });

  it('stays small on disk: what is past goes when the file has grown', async () => {
    const journal = await open();
    for (let id = 0; id < 20_000; id += 1) {
      journal.complete(pulse(id), 'set', { result: { text: 'x'.repeat(100) } });
      journal.answered(pulse(id));
      if (id % 100 === 0) await clock.advance(4_000);
    }
    await journal.flush();
    expect(storage.content.length).toBeLessThan(3 * 1024 * 1024);
    expect(storage.calls.filter((call) => call === 'replace').length).toBeGreaterThan(3);
    expect((await open(storage.afterKill())).find(pulse(19_999))).toBeDefined();
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
      expect(after.find(pulse(0))).toBeDefined();
      expect(after.find(pulse(1))?.reply === undefined).toBe(kept < unsynced);
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
    RpcJournal.open({ storage: new JournalFile(join(folder, 'rpc.journal')), clock, log: silentLog });

  it('is found again by the next process, its torn tail cut off', async () => {
    const journal = await openFile();
    await journal.intend(pulse(0));
    await journal.intend(pulse(1));
    await journal.close();
    const path = join(folder, 'rpc.journal');
    await truncate(path, (await readFile(path)).length - 3);
    const second = await openFile();
    expect([second.find(pulse(0))?.id, second.find(pulse(1))?.id]).toEqual([0, undefined]);
    await second.intend(pulse(2));
    await second.close();
    const third = await openFile();
    expect([third.find(pulse(0))?.id, third.find(pulse(2))?.id]).toEqual([0, 2]);
    await third.close();
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
    expect(second.find(pulse(2))?.id).toBe(2);
    await second.close();
    expect((await readdir(folder)).sort()).toEqual(['rpc.journal', 'rpc.journal.corrupt']);
  });
});
