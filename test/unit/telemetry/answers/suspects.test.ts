/** Which refused entry stands aside, is asked for again, counts as at fault, or goes; by what is refused and taken around it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import { Suspects } from '../../../../src/telemetry/answers/suspects.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MINUTE_MS = 60_000;

let clock: FakeClock;
let suspects: Suspects;
let aside: Set<number>;
let gone: Set<number>;
let unreadable: Set<number>;
let diskAnswers: boolean;
let rejected: [number, string][];
let givenUp: number[];
let diskTakes: boolean;
/** Sequences that a disk which takes others does not take. */
let diskRefuses: Set<number>;

beforeEach(() => {
  clock = new FakeClock();
  aside = new Set();
  gone = new Set();
  unreadable = new Set();
  diskAnswers = true;
  rejected = [];
  givenUp = [];
  diskTakes = true;
  diskRefuses = new Set();
  suspects = new Suspects({
    clock,
    log: silentLog,
    outbox: {
      aside: {
        add: (sequence) => void aside.add(sequence),
        putBack: (sequence) => void aside.delete(sequence),
        peek: async (sequence) => {
          if (!diskAnswers) return 'not-now';
          if (unreadable.has(sequence)) return 'unreadable';
          return gone.has(sequence) ? undefined : batch(sequence);
        },
        giveUp: (sequence) => void givenUp.push(sequence),
      },
      reject: async ({ sequence }, answer) => {
        if (!diskTakes || diskRefuses.has(sequence)) throw new Error('no space');
        rejected.push([sequence, answer]);
      },
    },
  });
});

const ALARM = 7_777;

function entry(sequence: number): ResolvedEntry {
  return {
    sequence,
    device: 'self',
    key: `k${sequence}`,
    value: 1,
    ts: sequence,
    class: sequence >= ALARM && sequence < 9_000 ? 'alarm' : 'regular',
  };
}

function batch(sequence: number): OutboxBatch {
  return { lane: 'backlog', entries: EntryColumns.of([entry(sequence)]), ranges: [[sequence, sequence]], bytes: 1 };
}

const refuse = (sequence: number, counts = true): void => suspects.refused({ entry: entry(sequence), answer: 'no', counts });
const takeOther = (): Promise<void> => suspects.taken(batch(999_999));
const asked = async (nothingElse = false, withHistory = true): Promise<number | undefined> =>
  (await suspects.due({ nothingElse, withHistory }))?.entries.sequences[0];
const pass = (ms: number): Promise<void> => clock.advance(ms);

/** One contact that counts as far as the time since the last one allows. */
async function contact(sequence: number): Promise<void> {
  refuse(sequence);
  await takeOther();
}

describe('a refused entry', () => {
  it('stands aside at once', () => {
    refuse(1);
    expect([[...aside], suspects.has(1), suspects.has(2), suspects.size]).toEqual([[1], true, false, 1]);
  });

  it('is asked for without history only if it is an alarm, due or in vain', async () => {
    for (const sequence of [1, ALARM]) {
      refuse(sequence);
      suspects.failed();
    }
    expect([await asked(true, false), await asked(true, false)]).toEqual([ALARM, ALARM]);
    await takeOther();
    await pass(MINUTE_MS);
    for (let times = 0; times < 3; times += 1) {
      expect(await asked(false, false)).toBe(ALARM);
      await takeOther();
    }
    expect(await asked()).toBe(1);
  });

  it('is rejected at the third contact that counts, with the last answer', async () => {
    for (const expected of [[], [], [[1, 'no']]]) {
      await contact(1);
      expect(rejected).toEqual(expected);
      await pass(10 * MINUTE_MS);
    }
    expect([suspects.size, givenUp]).toEqual([0, []]);
  });

  it('is not, by contacts that come too soon', async () => {
    for (let second = 0; second < 599; second += 60) {
      await contact(1);
      await pass(60_000);
    }
    expect(rejected).toEqual([]);
    await contact(1);
    await pass(10 * MINUTE_MS - 1);
    await contact(1);
    expect(rejected).toEqual([]);
    await pass(1);
    await contact(1);
    expect(rejected).toEqual([[1, 'no']]);
  });

  it('is not, while nothing else is taken in between', async () => {
    for (let round = 0; round < 10; round += 1) {
      refuse(1);
      await pass(10 * MINUTE_MS);
    }
    await takeOther();
    expect(rejected).toEqual([]);
  });

  it('is not, when what came next failed', async () => {
    for (let round = 0; round < 10; round += 1) {
      refuse(1);
      suspects.failed();
      await takeOther();
      await pass(10 * MINUTE_MS);
    }
    expect(rejected).toEqual([]);
  });

  it('is not, by answers that say nothing of it', async () => {
    for (let round = 0; round < 10; round += 1) {
      refuse(1, false);
      await takeOther();
      await pass(10 * MINUTE_MS);
    }
    expect(rejected).toEqual([]);
  });

  it('begins anew when another one is taken after all, or all that was refused together', async () => {
    for (const absolve of [() => suspects.taken(batch(2)), async () => suspects.absolve()]) {
      refuse(2);
      await takeOther();
      await contact(1);
      await pass(10 * MINUTE_MS);
      await contact(1);
      await pass(10 * MINUTE_MS);
      await absolve();
      await contact(1);
      await pass(10 * MINUTE_MS);
      await contact(1);
      expect(rejected).toEqual([]);
      await suspects.taken(batch(1));
      await pass(10 * MINUTE_MS);
    }
    expect(suspects.has(1)).toBe(false);
  });

  it('begins anew, too, when it was refused last before another one was taken after all', async () => {
    await contact(2);
    await contact(1);
    await pass(10 * MINUTE_MS);
    refuse(1);
    await suspects.taken(batch(2));
    for (const expected of [[], [], [[1, 'no']]]) {
      await pass(10 * MINUTE_MS);
      await contact(1);
      expect(rejected).toEqual(expected);
    }
  });

  it('that went meanwhile is counted no more', async () => {
    await contact(2);
    await contact(2);
    refuse(1);
    gone.add(1);
    await pass(45_000);
    expect(await asked()).toBeUndefined();
    await takeOther();
    expect([suspects.has(1), suspects.size]).toEqual([false, 1]);
  });

  it('is given up after a day, too, when the disk never keeps it', async () => {
    diskTakes = false;
    for (let round = 0; round < 3; round += 1) {
      await contact(1);
      await pass(10 * MINUTE_MS);
    }
    await pass(24 * 60 * MINUTE_MS);
    await contact(1);
    expect([givenUp, suspects.size]).toEqual([[1], 0]);
  });

  it('stays, and is rejected later, when the disk cannot keep it', async () => {
    diskTakes = false;
    for (let round = 0; round < 4; round += 1) {
      await contact(1);
      await pass(10 * MINUTE_MS);
    }
    expect([suspects.size, rejected]).toEqual([1, []]);
    diskTakes = true;
    await contact(1);
    expect([suspects.size, rejected]).toEqual([0, [[1, 'no']]]);
  });

  it('is given up a day after its first refusal, when it still is refused and others are taken', async () => {
    refuse(1, false);
    await takeOther();
    await pass(24 * 60 * MINUTE_MS - 1);
    refuse(1, false);
    await takeOther();
    expect(givenUp).toEqual([]);
    await pass(1);
    refuse(1, false);
    suspects.failed();
    await takeOther();
    expect(givenUp).toEqual([]);
    refuse(1, false);
    await takeOther();
    expect([givenUp, suspects.size, rejected]).toEqual([[1], 0, []]);
  });
});

describe('what can never be sent', () => {
  const keep = (...sequences: number[]): Promise<boolean> =>
    suspects.keep(sequences.map((sequence) => ({ entry: entry(sequence), answer: 'never' })));

  it('is kept among the rejected at once, and is no suspect any more', async () => {
    refuse(2);
    expect(await keep(1, 2)).toBe(true);
    expect(rejected).toEqual([
      [1, 'never'],
      [2, 'never'],
    ]);
    expect(suspects.size).toBe(0);
  });

  it('stands aside from the first one on that the disk does not take, which says nothing about it', async () => {
    diskRefuses.add(2);
    expect(await keep(1, 2, 3)).toBe(false);
    expect([rejected, [...aside], suspects.size]).toEqual([[[1, 'never']], [2, 3], 2]);
    await takeOther();
    for (let contacts = 0; contacts < 2; contacts += 1) {
      await pass(10 * MINUTE_MS);
      await contact(3);
    }
    expect(rejected).toHaveLength(1);
    await pass(10 * MINUTE_MS);
    await contact(3);
    expect(rejected).toEqual([
      [1, 'never'],
      [3, 'no'],
    ]);
  });
});

describe('beyond a thousand', () => {
  it('the oldest is given up when the newest is refused and others are taken', async () => {
    for (let sequence = 1; sequence <= 1_000; sequence += 1) await contact(sequence);
    expect(givenUp).toEqual([]);
    await contact(1_001);
    expect([givenUp, suspects.size]).toEqual([[1], 1_000]);
  });

  it('one is that was refused more often, before any that was not', async () => {
    refuse(1, false);
    await takeOther();
    await contact(2);
    for (let sequence = 3; sequence <= 1_000; sequence += 1) {
      refuse(sequence, false);
      await takeOther();
    }
    await contact(1_001);
    expect(givenUp).toEqual([2]);
  });

  it('none is, while nothing else is taken: the newest waits in its lane', () => {
    for (let sequence = 1; sequence <= 1_005; sequence += 1) refuse(sequence);
    suspects.failed();
    expect([givenUp, suspects.size, aside.size, aside.has(1_005)]).toEqual([[], 1_000, 1_000, false]);
  });

  it('the newest, refused again while nothing else is taken, is asked for less and less often', async () => {
    for (let sequence = 1; sequence <= 1_000; sequence += 1) await contact(sequence);
    refuse(ALARM);
    // Alarms and others have their turns.
    await pass(30_000);
    expect(await asked(true)).toBe(ALARM);
    refuse(ALARM);
    await pass(30_000);
    expect([await asked(true), await asked(true)]).toEqual([1, 1]);
    await pass(30_000);
    expect(await asked(true)).toBe(ALARM);
  });
});

describe('a suspect is asked for', () => {
  it('after half a minute, a minute, two, and so on, and for the ten minutes after which it counts', async () => {
    const waitedMs: number[] = [];
    await contact(1);
    let sinceMs = 0;
    while (waitedMs.length < 6) {
      await pass(500);
      sinceMs += 500;
      await takeOther();
      if ((await asked()) === undefined) continue;
      waitedMs.push(sinceMs);
      sinceMs = 0;
      await contact(1);
    }
    // Ten minutes after the first contact comes the second that counts, and ten after that the third.
    expect(waitedMs).toEqual([30_000, 60_000, 120_000, 240_000, 150_000, 600_000]);
    expect(rejected).toEqual([[1, 'no']]);
  });

  it('only after others had their turn, and ten seconds after one that was refused again', async () => {
    await contact(1);
    await contact(2);
    await pass(MINUTE_MS);
    expect(await asked()).toBe(1);
    expect(await asked()).toBeUndefined();
    await contact(1);
    expect(await asked()).toBeUndefined();
    await pass(9_999);
    expect(await asked()).toBeUndefined();
    await pass(1);
    expect(await asked()).toBe(2);
  });

  it('only after others had theirs, not right after one like it was taken', async () => {
    for (const sequence of [1, 2, 3]) await contact(sequence);
    await pass(MINUTE_MS);
    expect(await asked()).toBe(1);
    await suspects.taken(batch(1));
    expect(await asked()).toBeUndefined();
    await takeOther();
    expect(await asked()).toBe(2);
  });

  it('at once after something was taken, when it was refused while nothing was', async () => {
    refuse(1);
    refuse(2);
    expect(await asked()).toBeUndefined();
    await takeOther();
    expect(await asked()).toBe(1);
    await suspects.taken(batch(1));
    await takeOther();
    // The last one had something taken after it: it waits its half minute.
    expect(await asked()).toBeUndefined();
    expect(suspects.size).toBe(1);
  });

  it('soon, however many are refused again and again before it; an alarm first', async () => {
    for (let sequence = 1; sequence <= 100; sequence += 1) await contact(sequence);
    await pass(10 * MINUTE_MS);
    for (const sequence of [101, ALARM]) await contact(sequence);
    const asks: (number | undefined)[] = [];
    for (let minute = 0; minute < 130; minute += 1) {
      await pass(MINUTE_MS);
      await takeOther();
      const sequence = await asked();
      asks.push(sequence);
      // What is refused for good stays so, and the disk does not take it.
      if (sequence !== undefined) refuse(sequence, false);
    }
    expect(asks.slice(0, 3)).toContain(ALARM);
    expect(asks.indexOf(101)).toBeGreaterThan(0);
    expect(new Set(asks).size).toBe(102);
  });

  it('in turns with alarms, of which one is always due', async () => {
    for (let sequence = 1; sequence <= 5; sequence += 1) await contact(sequence);
    for (let sequence = ALARM; sequence < ALARM + 60; sequence += 1) await contact(sequence);
    await pass(10 * MINUTE_MS);
    const asks: (number | undefined)[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      await pass(10_000);
      await takeOther();
      const sequence = await asked();
      asks.push(sequence);
      if (sequence !== undefined) refuse(sequence, false);
    }
    expect(asks.filter((sequence) => sequence !== undefined && sequence <= 5).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('each in its turn when there is nothing else, but not the one that waits to be decided', async () => {
    for (const sequence of [1, 2, 3]) refuse(sequence);
    const inTurn: (number | undefined)[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const sequence = await asked(true);
      inTurn.push(sequence);
      if (sequence !== undefined) suspects.failed();
    }
    expect(inTurn).toEqual([1, 2, 1, 3]);
    refuse(2);
    expect([await asked(true), await asked(true), await asked(true)]).toEqual([1, 3, 1]);
  });

  it('alone, when only one is there, after its time and not before', async () => {
    refuse(1);
    expect(await asked(true)).toBeUndefined();
    await pass(30_000);
    expect(await asked(true)).toBe(1);
  });

  it('no more when it is gone: its lane may have it', async () => {
    refuse(1);
    refuse(2);
    gone.add(1);
    await takeOther();
    await pass(30_000);
    expect(await asked()).toBe(2);
    expect([suspects.has(1), aside.has(1), aside.has(2)]).toEqual([false, false, true]);
  });

  it('again when the disk did not answer, with its turn and its refusals as they were', async () => {
    for (const sequence of [1, 2]) await contact(sequence);
    refuse(3);
    suspects.failed();
    refuse(4);
    suspects.failed();
    diskAnswers = false;
    expect([await asked(), await asked(true)]).toEqual([undefined, undefined]);
    diskAnswers = true;
    expect([await asked(true), await asked(true)]).toEqual([3, 4]);
    await takeOther();
    await pass(10 * MINUTE_MS);
    for (const next of [3, 4, 1, 2, 3, 4, 1]) {
      diskAnswers = false;
      expect([await asked(), await asked(true)]).toEqual([undefined, undefined]);
      expect([suspects.size, [...aside]]).toEqual([4, [1, 2, 3, 4]]);
      diskAnswers = true;
      expect(await asked()).toBe(next);
      await contact(next);
      await pass(10 * MINUTE_MS);
    }
    expect(rejected).toEqual([[1, 'no']]);
  });

  it('again when its segment can be read, with its refusals as they were, and holds up no other until then', async () => {
    for (const sequence of [1, 2]) await contact(sequence);
    for (const sequence of [3, 4]) {
      refuse(sequence);
      suspects.failed();
    }
    unreadable = new Set([1, 3]);
    expect([await asked(true), await asked(true)]).toEqual([4, 4]);
    await takeOther();
    await pass(10 * MINUTE_MS);
    expect(await asked()).toBe(4);
    await contact(4);
    expect([suspects.size, [...aside]]).toEqual([4, [1, 2, 3, 4]]);
    unreadable.clear();
    await pass(MINUTE_MS);
    expect(await asked()).toBe(1);
    await contact(1);
    await pass(10 * MINUTE_MS);
    await contact(1);
    expect(rejected).toEqual([[1, 'no']]);
  });

  it('no more, nor any other, when two in a row were taken: all go back to their lanes', async () => {
    for (const sequence of [1, 2, 3, 4, 5]) await contact(sequence);
    await suspects.taken(batch(1));
    await takeOther();
    await contact(6);
    await suspects.taken(batch(2));
    expect([suspects.size, [...aside]]).toEqual([4, [1, 2, 3, 4, 5, 6]]);
    await takeOther();
    await suspects.taken(batch(3));
    expect([suspects.size, aside.has(4), aside.has(5), aside.has(6)]).toEqual([0, false, false, false]);
    await pass(10 * MINUTE_MS);
    await takeOther();
    expect(await asked()).toBeUndefined();
  });

  it('no more when it was taken', async () => {
    await contact(1);
    await suspects.taken(batch(1));
    await pass(MINUTE_MS);
    await takeOther();
    expect([suspects.size, await asked()]).toEqual([0, undefined]);
  });
});
