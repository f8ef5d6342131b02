/** Which entry that was not answered makes way, goes again, is back in its lane, or does not pass. */
import { beforeEach, expect, it } from 'vitest';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { Unanswered } from '../../../../src/telemetry/answers/unanswered.ts';

let aside: Set<number>;
let gone: Set<number>;
let unreadable: Set<number>;
let diskAnswers: boolean;
let unanswered: Unanswered;

beforeEach(() => {
  aside = new Set();
  gone = new Set();
  unreadable = new Set();
  diskAnswers = true;
  unanswered = new Unanswered({
    aside: {
      add: (sequence) => void aside.add(sequence),
      putBack: (sequence) => void aside.delete(sequence),
      peek: async (sequence) => {
        if (!diskAnswers) return 'not-now';
        if (unreadable.has(sequence)) return 'unreadable';
        return gone.has(sequence) ? undefined : batch(sequence);
      },
      giveUp: () => {},
    },
  });
});

function batch(sequence: number): OutboxBatch {
  return { lane: 'live', entries: EntryColumns.of([]), ranges: [[sequence, sequence]], bytes: 1 };
}

const due = async (nothingElse = false, withHistory = true): Promise<number | undefined> =>
  (await unanswered.due({ nothingElse, withHistory }))?.ranges[0]?.[0];

it('makes way, and does not pass only when it fails again after others were taken', async () => {
  for (let times = 0; times < 3; times += 1) expect(unanswered.failed(1, 'live')).toBe(false);
  expect([[...aside], await due()]).toEqual([[1], undefined]);
  unanswered.taken(batch(9));
  expect(await due()).toBe(1);
  expect([unanswered.failed(1, 'live'), unanswered.size, [...aside]]).toEqual([true, 0, [1]]);
});

it('goes again one at a time, each after another was taken, and each in its turn when there is nothing else', async () => {
  for (const sequence of [1, 2]) unanswered.failed(sequence, 'live');
  for (const sequence of [1, 2]) {
    expect(await due(true)).toBe(sequence);
    expect(unanswered.failed(sequence, 'live')).toBe(false);
  }
  unanswered.taken(batch(9));
  expect([await due(), await due()]).toEqual([1, undefined]);
});

it.each([1, 9])('goes on making way when only %i is taken, before it or behind', async (taken) => {
  unanswered.failed(5, 'live');
  unanswered.taken(batch(taken));
  expect([[...aside], await due()]).toEqual([[5], 5]);
});

it('brings all back into their lanes when one of them is taken: it was the line', () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence, 'live');
  unanswered.taken(batch(2));
  expect([unanswered.size, [...aside]]).toEqual([0, []]);
});

it('waits for others anew when one that made way was what was taken', async () => {
  unanswered.failed(1, 'live');
  unanswered.taken(batch(9));
  unanswered.taken(batch(1));
  unanswered.failed(2, 'live');
  expect(await due()).toBeUndefined();
  unanswered.taken(batch(9));
  expect(await due()).toBe(2);
});

it('is no longer held here when it was refused, or is gone', async () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence, 'live');
  unanswered.forget(1);
  gone.add(2);
  expect(await due(true)).toBe(3);
  expect([unanswered.size, [...aside]]).toEqual([1, [1, 3]]);
});

it('goes again when the disk did not answer, in its turn, and does not pass when it fails then', async () => {
  for (const sequence of [1, 2]) unanswered.failed(sequence, 'live');
  unanswered.taken(batch(9));
  diskAnswers = false;
  expect([await due(), await due(true)]).toEqual([undefined, undefined]);
  expect([unanswered.size, [...aside]]).toEqual([2, [1, 2]]);
  diskAnswers = true;
  expect(await due()).toBe(1);
  expect(unanswered.failed(1, 'live')).toBe(true);
});

it('goes again when its segment can be read, out of its lane until then, and holds up no other', async () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence, 'live');
  unreadable = new Set([1, 2]);
  unanswered.taken(batch(9));
  expect(await due()).toBeUndefined();
  expect(await due(true)).toBe(3);
  expect([unanswered.size, [...aside]]).toEqual([3, [1, 2, 3]]);
  expect(unanswered.failed(3, 'live')).toBe(true);
  expect(await due(true)).toBeUndefined();
  unreadable.clear();
  expect(await due(true)).toBe(1);
  expect(unanswered.failed(1, 'live')).toBe(true);
});

it('lets no more than a thousand make way', () => {
  for (let sequence = 0; sequence <= 1_000; sequence += 1) unanswered.failed(sequence, 'live');
  expect([unanswered.size, aside.has(0), aside.has(1)]).toEqual([1_000, false, true]);
});

it('keeps the lane that it had: only what came out of the backlog waits for another day, however often it was asked for', async () => {
  for (const [sequence, lane] of [
    [1, 'backlog'],
    [2, 'alarm'],
    [3, 'live'],
  ] as const)
    unanswered.failed(sequence, lane);
  for (const withHistory of [true, false]) expect(unanswered.waiting({ withHistory })).toBe(withHistory ? 3 : 2);
  for (const sequence of [2, 3]) {
    expect(await due(true, false)).toBe(sequence);
    // By itself it is read as what lies in the backlog.
    expect(unanswered.failed(sequence, 'backlog')).toBe(false);
  }
  unanswered.taken(batch(9));
  expect(await due(false, false)).toBe(2);
  expect(unanswered.failed(2, 'alarm')).toBe(true);
  expect(await due(true, false)).toBe(3);
  expect(unanswered.failed(3, 'backlog')).toBe(true);
  expect([await due(true, false), await due(true)]).toEqual([undefined, 1]);
});
