/** Entries that failed by themselves: who makes way, is retried, is suspicious, or is back in its lane. */
import { beforeEach, expect, it } from 'vitest';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { Quarantine } from '../../../../src/telemetry/answers/quarantine.ts';

let quarantined: Set<number>;
let gone: Set<number>;
let quarantine: Quarantine;

beforeEach(() => {
  [quarantined, gone] = [new Set(), new Set()];
  quarantine = new Quarantine({
    quarantined: {
      add: (sequence) => void quarantined.add(sequence),
      putBack: (sequence) => void quarantined.delete(sequence),
      isWaiting: (sequence) => !gone.has(sequence),
    },
  });
});

function entries(sequence: number, value: string | number = 1): EntryColumns {
  return EntryColumns.of([{ sequence, device: 'self', key: 'k', value, ts: 1, class: 'regular' }]);
}

function batch(sequence: number): OutboxBatch {
  return { lane: 'live', entries: entries(sequence), ranges: [[sequence, sequence]], bytes: 1 };
}

const due = (nothingElse = false, withHistory = true): number | undefined =>
  quarantine.due({ nothingElse, withHistory })?.ranges[0]?.[0];

it('makes way, and is suspicious only when others were accepted since it failed', async () => {
  for (let times = 0; times < 3; times += 1) {
    quarantine.add(entries(1), 'live');
    expect(quarantine.othersPassed(1)).toBe(false);
  }
  expect([[...quarantined], due()]).toEqual([[1], undefined]);
  expect(quarantine.accepted(batch(9))).toBe(false);
  expect([due(), quarantine.othersPassed(1)]).toEqual([1, true]);
  quarantine.release(1);
  expect([quarantine.size, quarantine.othersPassed(1), [...quarantined]]).toEqual([0, false, [1]]);
});

it('is retried one at a time, each after another was accepted, and each in its turn when there is nothing else', async () => {
  for (const sequence of [1, 2]) quarantine.add(entries(sequence), 'live');
  for (const sequence of [1, 2]) {
    expect(due(true)).toBe(sequence);
    quarantine.add(entries(sequence), 'live');
  }
  quarantine.accepted(batch(9));
  expect([due(), due()]).toEqual([1, undefined]);
});

it.each([1, 9])('goes on making way when only %i is accepted, before it or behind', async (accepted) => {
  quarantine.add(entries(5), 'live');
  quarantine.accepted(batch(accepted));
  expect([[...quarantined], due()]).toEqual([[5], 5]);
});

it('brings all back into their lanes when one of them is accepted, and waits for others again', async () => {
  for (const sequence of [1, 2, 3]) quarantine.add(entries(sequence), 'live');
  expect(quarantine.accepted(batch(2))).toBe(true);
  expect([quarantine.size, [...quarantined]]).toEqual([0, []]);
  quarantine.add(entries(4), 'live');
  expect(due()).toBeUndefined();
  quarantine.accepted(batch(9));
  expect(due()).toBe(4);
});

it('is back in its lane when it is gone', async () => {
  for (const sequence of [2, 3]) quarantine.add(entries(sequence), 'live');
  gone.add(2);
  expect(due(true)).toBe(3);
  expect([quarantine.size, [...quarantined]]).toEqual([1, [3]]);
});

it('holds no more than a thousand: the first is back in its lane', () => {
  for (let sequence = 0; sequence <= 1_000; sequence += 1) quarantine.add(entries(sequence), 'live');
  expect([quarantine.size, quarantined.has(0), quarantined.has(1)]).toEqual([1_000, false, true]);
  for (let sequence = 2_000; sequence < 2_005; sequence += 1)
    quarantine.add(entries(sequence, 'x'.repeat(1_000_000)), 'live');
  expect([quarantine.size, quarantined.has(2_000), quarantined.has(2_001)]).toEqual([4, false, true]);
});

it('keeps the lane that it had: only what came out of the backlog waits for another day', async () => {
  for (const [sequence, lane] of [
    [1, 'backlog'],
    [2, 'alarm'],
    [3, 'live'],
  ] as const)
    quarantine.add(entries(sequence), lane);
  for (const withHistory of [true, false]) expect(quarantine.waiting({ withHistory })).toBe(withHistory ? 3 : 2);
  for (const sequence of [2, 3]) {
    expect(due(true, false)).toBe(sequence);
    // By itself it is read as what lies in the backlog.
    quarantine.add(entries(sequence), 'backlog');
  }
  quarantine.accepted(batch(9));
  expect(due(false, false)).toBe(2);
  quarantine.release(2);
  expect(due(true, false)).toBe(3);
  quarantine.release(3);
  expect([due(true, false), due(true)]).toEqual([undefined, 1]);
});
