/** Recall of requests: how one relates to those before it, for how long, and which go when there are too many. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { RpcRequest } from '../../../src/platform/device-api.ts';
import type { JournalEntry } from '../../../src/rpc/journal-entries.ts';
import { RpcJournal } from '../../../src/rpc/rpc-journal.ts';
import { outcomeUnknownReply } from '../../../src/rpc/rpc-reply.ts';
import { FakeClock } from '../../support/fake-clock.ts';
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
const open = (from = storage): Promise<RpcJournal> => RpcJournal.open({ file: from.file, clock, log: silentLog });

beforeEach(() => {
  clock = new FakeClock();
  storage = new MemoryJournalStorage();
});

describe('what the journal remembers', () => {
  it('takes the same id with other content, or other params order, for what it is', async () => {
    const journal = await open();
    journal.complete(pulse(3), 'move', reply);
    expect(find(journal, { id: 3, method: 'pulse', params: { durationMs: 100, name: 'relay' } })).toBeDefined();
    expect(find(journal, pulse(3, 200))).toBeUndefined();
    expect(find(journal, { ...pulse(3), method: 'pulse2' })).toBeUndefined();
  });

  it('begins the time of a repeat anew with each hand-out', async () => {
    const journal = await open();
    journal.complete(pulse(0), 'move', reply);
    for (let time = 0; time < 20; time += 1) {
      await clock.advance(29_999);
      expect(journal.recall(pulse(0)).verdict).toBe('same');
    }
    await clock.advance(30_000);
    expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
  });

  it('takes nothing for the same whose reply was taken: that answer has been given', async () => {
    const journal = await open();
    journal.complete(pulse(0), 'move', reply);
    journal.answered(pulse(0));
    expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
    await clock.advance(599_999);
    expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
    await clock.advance(1);
    expect(journal.recall(pulse(0)).verdict).toBe('new');
  });

  it.each(['kept', 'written anew'])(
    'knows after a restart of its own that the platform had become another, the file %s',
    async (how) => {
      const journal = await open();
      journal.complete({ id: 2, method: 'setActuator', params: {} }, 'set', reply);
      await journal.intend(pulse(3));
      journal.complete(pulse(3), 'move', reply);
      await clock.advance(20_000);
      // Its next life counts from 0 again.
      journal.recall({ id: 2, method: 'getStatus', params: {} });
      await journal.flush();
      let next = await open(storage.afterKill());
      if (how === 'written anew') {
        await next.intend(pulse(9, 200));
        next = await open(storage.afterKill());
      }
      await clock.advance(60_000);
      expect(next.recall(pulse(5)).verdict).toBe('undecidable');
      expect(next.recall(pulse(5, 300)).verdict).toBe('new');
    },
  );

  it('takes nothing for the same over a doubt and a restart of its own, and writes each once', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    journal.complete({ id: 1, method: 'setActuator', params: {} }, 'set', reply);
    await clock.advance(2_000);
    journal.doubtPlatform();
    await journal.flush();
    const bytes = storage.content.length;
    journal.doubtPlatform();
    await journal.flush();
    expect(storage.content.length).toBe(bytes);
    const next = await open(storage.afterKill());
    expect(next.recall(pulse(0)).verdict).toBe('undecidable');
    expect(next.recall({ id: 1, method: 'setActuator', params: {} }).verdict).toBe('undecidable');
  });

  it('keeps a doubt that came while the movement was under way', async () => {
    const journal = await open();
    journal.recall(pulse(0));
    await journal.intend(pulse(0));
    journal.doubtPlatform();
    journal.complete(pulse(0), 'move', reply);
    await journal.flush();
    expect((await open(storage.afterKill())).recall(pulse(0)).verdict).toBe('undecidable');
  });

  it('writes nothing of a doubt that decides nothing any more', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    await journal.intend(pulse(1, 200));
    journal.complete(pulse(1, 200), 'move', reply);
    journal.answered(pulse(1, 200));
    await clock.advance(30_000);
    await journal.flush();
    const bytes = storage.content.length;
    journal.doubtPlatform();
    await journal.flush();
    expect(storage.content.length).toBe(bytes);
  });

  it('does not take for the same what comes after a doubt, until it has been seen again', async () => {
    const journal = await open();
    journal.complete(pulse(0), 'move', reply);
    journal.doubtPlatform();
    expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
    journal.complete(pulse(0), 'move', reply);
    expect(journal.recall(pulse(0)).verdict).toBe('same');
  });

  it('takes an id with other content for the sign of a restart, before which nothing is the same', async () => {
    const journal = await open();
    for (const id of [0, 1]) journal.complete(pulse(id), 'move', reply);
    expect(journal.recall(pulse(0, 200)).verdict).toBe('new');
    journal.complete(pulse(0, 200), 'move', reply);
    expect([
      journal.recall(pulse(1)).verdict,
      journal.recall(pulse(2)).verdict,
      journal.recall(pulse(0, 200)).verdict,
    ]).toEqual(['undecidable', 'undecidable', 'same']);
  });

  it('takes a lower id for a repeat under a new one only while the reply was not taken, and a higher one for new', async () => {
    const journal = await open();
    journal.complete(pulse(7), 'move', reply);
    expect([journal.recall(pulse(8)).verdict, journal.recall(pulse(6)).verdict]).toEqual(['new', 'undecidable']);
    journal.answered(pulse(7));
    expect(journal.recall(pulse(6)).verdict).toBe('new');
    journal.complete(pulse(9), 'move', reply);
    expect(journal.recall(pulse(6))).toMatchObject({ verdict: 'undecidable', earlier: { id: 9 } });
  });

  it('leaves the time of those alone whose reply was taken before', async () => {
    const journal = await open();
    journal.complete(pulse(5), 'move', reply);
    journal.answered(pulse(5));
    await clock.advance(590_000);
    journal.complete(pulse(0), 'move', outcomeUnknownReply('why'));
    journal.answered(pulse(0));
    await clock.advance(10_000);
    expect([journal.recall(pulse(5)).verdict, journal.recall(pulse(0)).verdict]).toEqual(['new', 'undecidable']);
  });

  it('has everybody told of an unknown outcome once that answer is taken', async () => {
    const journal = await open();
    for (const id of [7, 8]) journal.complete(pulse(id), 'move', reply);
    journal.complete(pulse(9, 200), 'move', reply);
    journal.complete(pulse(0), 'move', outcomeUnknownReply('why'));
    expect(journal.recall(pulse(1)).verdict).toBe('undecidable');
    journal.answered(pulse(0));
    expect([journal.recall(pulse(1)).verdict, journal.recall(pulse(8, 200)).verdict]).toEqual(['new', 'undecidable']);
    await journal.flush();
    expect((await open(storage.afterKill())).recall(pulse(1)).verdict).toBe('new');
  });

  it.each([
    ['taken', 10 * 60_000],
    ['not taken', 24 * 3_600_000],
  ] as const)('forgets a movement whose reply was %s after %i ms, in memory and on disk', async (taken, ms) => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    if (taken === 'taken') journal.answered(pulse(0));
    await clock.advance(ms - 1);
    await journal.flush();
    expect((await open(storage.afterKill())).recall(pulse(0)).verdict).toBe('undecidable');
    await clock.advance(1);
    expect(journal.recall(pulse(0)).verdict).toBe('new');
    await journal.close();
    const left = storage.afterKill();
    await (await open(left)).flush();
    expect(left.content.toString('latin1')).not.toContain('pulse');
  });

  it('keeps the time across a restart of the process', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    journal.complete(pulse(0), 'move', reply);
    journal.complete(pulse(1, 200), 'move', reply);
    journal.answered(pulse(1, 200));
    await journal.flush();
    const verdicts = async (): Promise<string[]> => {
      const after = await open(storage.afterKill());
      return [after.recall(pulse(0)).verdict, after.recall(pulse(1, 200)).verdict];
    };
    await clock.advance(29_999);
    expect(await verdicts()).toEqual(['same', 'undecidable']);
    await clock.advance(1);
    expect(await verdicts()).toEqual(['undecidable', 'undecidable']);
    await clock.advance(570_000);
    expect(await verdicts()).toEqual(['undecidable', 'new']);
  });

  it('takes nothing for the same that was before a reboot, and adds up the time of every boot', async () => {
    let journal = await open();
    await journal.intend(pulse(0));
    await clock.advance(10 * 3_600_000);
    for (let boot = 2; boot <= 3; boot += 1) {
      await journal.close();
      clock.reboot({ bootId: `boot-${boot}` });
      journal = await open(storage.afterKill());
      expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
      storage = storage.afterKill();
      journal = await open();
      await clock.advance(7 * 3_600_000 - 100_000);
      expect(journal.recall(pulse(0)).verdict).toBe('undecidable');
    }
    await clock.advance(200_000);
    expect(journal.recall(pulse(0)).verdict).toBe('new');
  });

  it('forgets an unanswered movement in the end where every boot is cut after a moment', async () => {
    await (await open()).intend(pulse(0));
    let boots = 0;
    for (; boots < 400; boots += 1) {
      storage = storage.afterPowerCut();
      clock.reboot({ bootId: `boot ${boots}` });
      const journal = await open();
      await journal.flush();
      if (journal.recall(pulse(0)).verdict === 'new') break;
    }
    expect(boots).toBeGreaterThan(200);
    expect(boots).toBeLessThan(300);
  });

  it('never forgets a movement of the last half minute, however many requests come, and refuses more than it can hold', async () => {
    const journal = await open();
    for (let id = 0; id < 4095; id += 1) journal.complete(pulse(id), 'move', reply);
    for (let id = 5_000; id < 6_000; id += 1) journal.complete({ id, method: 'getStatus', params: {} }, 'read', reply);
    expect(find(journal, pulse(0))).toBeDefined();
    await journal.intend(pulse(4095));
    await expect(journal.intend(pulse(4096))).rejects.toMatchObject({ code: 'rpc/journal-full' });
    journal.complete(pulse(4096), 'move', reply);
    expect(find(journal, pulse(4096))).toBeUndefined();
  });

  it('refuses no movement for long because of replies that were never taken: the oldest go, those that were taken first', async () => {
    const journal = await open();
    for (let id = 0; id < 4096; id += 1) journal.complete(pulse(id), 'move', reply);
    for (const id of [1_000, 1_001]) journal.answered(pulse(id));
    await clock.advance(30_000);
    for (let id = 5_000; id < 5_003; id += 1) await journal.intend(pulse(id));
    const gone = [0, 1, 2, 999, 1_000, 1_001, 1_002].filter((id) => find(journal, pulse(id))?.id !== id);
    expect(gone).toEqual([0, 1_000, 1_001]);
  });

  it('holds no more than 3 MB, whatever replies and names come, and gives up an older reply for it', async () => {
    const journal = await open();
    const large = { result: 'x'.repeat(60_000) };
    const taken: boolean[] = [];
    for (let id = 0; id < 80; id += 1) {
      journal.complete(pulse(id), 'move', large);
      taken.push(find(journal, pulse(id))?.id === id);
    }
    expect(taken.lastIndexOf(true)).toBe(50);
    await clock.advance(30_000);
    journal.complete(pulse(90), 'move', large);
    expect([find(journal, pulse(0))?.id, find(journal, pulse(90))]).toMatchObject([1, { id: 90, reply: large }]);
  });

  it('knows a movement by its intent when there is no room for its reply', async () => {
    const journal = await open();
    await journal.intend(pulse(0));
    for (let id = 1; id < 80; id += 1) journal.complete(pulse(id), 'move', { result: 'x'.repeat(60_000) });
    journal.complete(pulse(0), 'move', { result: 'x'.repeat(60_000) });
    expect(find(journal, pulse(0))).toMatchObject({ id: 0, effect: 'move' });
    expect(find(journal, pulse(0))?.reply).toBeUndefined();
  });

  it('keeps of a read what is small, and reads again what is large', async () => {
    const journal = await open();
    const read = (id: number): RpcRequest => ({ id, method: 'getStatus', params: { id } });
    const ofLength = (length: number): { result: string } => ({ result: 'x'.repeat(length - '{"result":""}'.length) });
    journal.complete(read(0), 'read', ofLength(4096));
    journal.complete(read(1), 'read', ofLength(4097));
    journal.complete(read(2), 'set', ofLength(4097));
    expect([0, 1, 2].map((id) => find(journal, read(id)) !== undefined)).toEqual([true, false, true]);
  });

  it('takes what was before a reboot for restarted when an id says so, and for doubtful before', async () => {
    await (await open()).intend(pulse(3));
    clock.reboot({ bootId: 'boot-2', monotonicMs: 1_000 });
    storage = storage.afterKill();
    const journal = await open();
    expect([journal.recall(pulse(4)).verdict, journal.recall(pulse(3)).verdict]).toEqual(['new', 'undecidable']);
    expect(journal.recall(pulse(3, 200)).verdict).toBe('new');
    expect(journal.recall(pulse(4)).verdict).toBe('undecidable');
  });
});
