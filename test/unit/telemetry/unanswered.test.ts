/** Which entry that was not answered makes way, goes again, is back in its lane, or does not pass. */
import { beforeEach, expect, it } from 'vitest';
import type { OutboxBatch } from '../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../src/outbox/format/entry-columns.ts';
import { Unanswered } from '../../../src/telemetry/unanswered.ts';

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

const due = async (nothingElse = false): Promise<number | undefined> => (await unanswered.due({ nothingElse }))?.ranges[0]?.[0];

it('makes way, and does not pass only when it fails again after others were taken', async () => {
  for (let times = 0; times < 3; times += 1) expect(unanswered.failed(1)).toBe(false);
  expect([[...aside], await due()]).toEqual([[1], undefined]);
  unanswered.taken(batch(9));
  expect(await due()).toBe(1);
  expect([unanswered.failed(1), unanswered.size, [...aside]]).toEqual([true, 0, [1]]);
});

it('goes again one at a time, each after another was taken, and each in its turn when there is nothing else', async () => {
  for (const sequence of [1, 2]) unanswered.failed(sequence);
  for (const sequence of [1, 2]) {
    expect(await due(true)).toBe(sequence);
    expect(unanswered.failed(sequence)).toBe(false);
  }
  unanswered.taken(batch(9));
  expect([await due(), await due()]).toEqual([1, undefined]);
});

it.each([1, 9])('goes on making way when only %i is taken, before it or behind', async (taken) => {
  unanswered.failed(5);
  unanswered.taken(batch(taken));
  expect([[...aside], await due()]).toEqual([[5], 5]);
});

it('brings all back into their lanes when one of them is taken: it was the line', () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence);
  unanswered.taken(batch(2));
  expect([unanswered.size, [...aside]]).toEqual([0, []]);
});

it('waits for others anew when one that made way was what was taken', async () => {
  unanswered.failed(1);
  unanswered.taken(batch(9));
  unanswered.taken(batch(1));
  unanswered.failed(2);
  expect(await due()).toBeUndefined();
  unanswered.taken(batch(9));
  expect(await due()).toBe(2);
});

it('is no longer held here when it was refused, or is gone', async () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence);
  unanswered.forget(1);
  gone.add(2);
  expect(await due(true)).toBe(3);
  expect([unanswered.size, [...aside]]).toEqual([1, [1, 3]]);
});

it('goes again when the disk did not answer, in its turn, and does not pass when it fails then', async () => {
  for (const sequence of [1, 2]) unanswered.failed(sequence);
  unanswered.taken(batch(9));
  diskAnswers = false;
  expect([await due(), await due(true)]).toEqual([undefined, undefined]);
  expect([unanswered.size, [...aside]]).toEqual([2, [1, 2]]);
  diskAnswers = true;
  expect(await due()).toBe(1);
  expect(unanswered.failed(1)).toBe(true);
});

it('goes again when its segment can be read, out of its lane until then, and holds up no other', async () => {
  for (const sequence of [1, 2, 3]) unanswered.failed(sequence);
  unreadable = new Set([1, 2]);
  unanswered.taken(batch(9));
  expect(await due()).toBeUndefined();
  expect(await due(true)).toBe(3);
  expect([unanswered.size, [...aside]]).toEqual([3, [1, 2, 3]]);
  expect(unanswered.failed(3)).toBe(true);
  expect(await due(true)).toBeUndefined();
  unreadable.clear();
  expect(await due(true)).toBe(1);
  expect(unanswered.failed(1)).toBe(true);
});

it('lets no more than a thousand make way', () => {
  for (let sequence = 0; sequence <= 1_000; sequence += 1) unanswered.failed(sequence);
  expect([unanswered.size, aside.has(0), aside.has(1)]).toEqual([1_000, false, true]);
});
