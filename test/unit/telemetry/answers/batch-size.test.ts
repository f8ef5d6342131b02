/** How much goes into a post, by what became of those before it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { BatchSize } from '../../../../src/telemetry/answers/batch-size.ts';

const CONFIGURED = { maxEntries: 2_000, maxBytes: 256_000 };

let size: BatchSize;
beforeEach(() => {
  size = new BatchSize();
});

/** Entries `[first, last]`, one row each. */
function batch(first: number, last: number, valueAt: (sequence: number) => number | string = () => 1): OutboxBatch {
  const sequences = Array.from({ length: last - first + 1 }, (_none, at) => first + at);
  const entries = EntryColumns.of(
    sequences.map((sequence) => ({
      sequence,
      device: 'self',
      key: 'k',
      value: valueAt(sequence),
      ts: sequence,
      class: 'regular' as const,
    })),
  );
  return { lane: 'backlog', entries, ranges: [[first, last]], bytes: entries.jsonBytes() };
}

const rows = (): number => size.within(CONFIGURED).maxEntries;

describe('a batch', () => {
  it('goes as it is while nothing was too much', () => {
    const whole = batch(1, 5_000);
    expect(size.partOf(whole)).toBe(whole);
    expect(size.within(CONFIGURED)).toEqual(CONFIGURED);
  });

  it('goes in halves, in rows and in bytes, after it was too much, and no row is too much to be tried', () => {
    const whole = batch(1, 100);
    size.shrink(whole);
    expect(size.within(CONFIGURED)).toEqual({ maxEntries: 50, maxBytes: Math.floor(whole.bytes / 2) });
    expect(size.partOf(whole)).toMatchObject({ ranges: [[1, 50]], lane: 'backlog' });
    for (let step = 0; step < 10; step += 1) size.shrink(size.partOf(whole));
    expect(rows()).toBe(1);
    expect(size.within(CONFIGURED).maxBytes).toBeGreaterThanOrEqual(1);
    expect(size.partOf(batch(1, 1, () => 'x'.repeat(10_000))).entries.length).toBe(1);
  });

  it('forgets with what was too much what it tried before, and what was taken before', () => {
    size.taken(batch(1, 2));
    size.limited(batch(3, 10));
    size.shrink(batch(3, 6));
    size.limited(batch(3, 4));
    expect(rows()).toBe(2);
    for (let from = 3; rows() < 8; from += rows()) size.taken(batch(from, from + rows() - 1));
    size.taken(batch(101, 108));
    size.shrink(batch(109, 116));
    size.taken(batch(109, 112));
    while (rows() < 8) size.taken(batch(201, 200 + rows()));
    size.limited(batch(301, 308));
    expect(rows()).toBe(4);
  });

  it('is looked into again as large as it was taken once, when only less passes now; what was small anyway says nothing of that', () => {
    for (const [taken, tried, next] of [
      [5, 7, 5],
      [2, 5, 5],
    ] as const) {
      size = new BatchSize();
      size.taken(batch(1, 6));
      size.limited(batch(11, 20));
      expect(rows()).toBe(5);
      size.taken(batch(11, 10 + taken));
      expect(rows()).toBe(tried);
      size.limited(batch(21, 26));
      expect(rows()).toBe(next);
    }
  });

  it('is a piece while less passes than is configured, and only when more could have gone', () => {
    const whole = batch(1, 2_000);
    expect(size.isPiece(whole, CONFIGURED)).toBe(false);
    size.shrink(whole);
    expect(size.isPiece(size.partOf(whole), CONFIGURED)).toBe(false);
    for (let step = 0; step < 6; step += 1) size.shrink(size.partOf(whole));
    expect(size.partOf(whole).entries.length).toBe(15);
    expect(size.isPiece(size.partOf(whole), CONFIGURED)).toBe(true);
    expect(size.isPiece(batch(1, 3), CONFIGURED)).toBe(false);
    expect(size.isPiece(batch(1, 15), { maxEntries: 10, maxBytes: 10 })).toBe(false);
  });

  it('is cut by its bytes where rows differ, and says how many those are', () => {
    size.shrink(batch(1, 100));
    const part = size.partOf(batch(1, 50, (sequence) => (sequence > 20 ? 'x'.repeat(300) : 1)));
    expect(part.entries.length).toBeGreaterThan(5);
    expect(part.entries.length).toBeLessThan(30);
    expect(part.bytes).toBe(part.entries.jsonBytes());
    expect(part.bytes).toBeLessThanOrEqual(size.within(CONFIGURED).maxBytes);
  });

  it('is cut behind the mark of an entry, never before it, and reaches no later range', () => {
    const entries = EntryColumns.of(
      [1, 1, 2, 5].map((sequence, row) => ({
        sequence,
        device: 'self',
        key: `k${row}`,
        value: 1,
        ts: sequence,
        class: 'regular' as const,
      })),
    );
    size.shrink(batch(1, 2));
    const given: OutboxBatch = {
      lane: 'alarm',
      entries,
      ranges: [
        [1, 3],
        [5, 9],
      ],
      bytes: entries.jsonBytes(),
    };
    const part = size.partOf(given);
    expect([part.entries.sequences, part.ranges]).toEqual([[1, 1], [[1, 1]]]);
  });

  it('is as it is when nothing is in it', () => {
    size.shrink(batch(1, 2));
    expect(size.partOf(batch(1, 0)).entries.length).toBe(0);
  });
});

describe('the size', () => {
  it.each([7, 40, 101])(
    'finds a limit of %i rows, looks beyond it now and then, and finds one that has risen',
    (limit) => {
      size.shrink(batch(1, 128));
      let [beyond, passed] = [0, 0];
      const post = (most: number): void => {
        const sent = batch(1, rows());
        if (sent.entries.length > most) {
          beyond += 1;
          size.limited(sent);
        } else {
          passed = sent.entries.length;
          size.taken(sent);
        }
      };
      for (let time = 0; time < 200; time += 1) post(limit);
      expect(passed).toBeGreaterThanOrEqual(0.9 * limit - 1);
      expect(beyond).toBeLessThan(40);
      for (let time = 0; time < 300; time += 1) post(2 * limit);
      expect(passed).toBeGreaterThanOrEqual(1.8 * limit - 1);
    },
  );

  it('grows with what is taken, when that was as much as it may be', () => {
    size.shrink(batch(1, 64));
    size.taken(batch(1, 10));
    expect(rows()).toBe(32);
    size.taken(batch(1, 16));
    expect(rows()).toBe(64);
    size.taken(batch(1, 64));
    expect(rows()).toBe(128);
    for (let post = 0; post < 20; post += 1) size.taken(batch(1, Math.min(rows(), 2_000)));
    expect(rows()).toBe(2_000);
    const whole = batch(1, 2_000);
    expect(size.partOf(whole)).toBe(whole);
  });

  it('grows by bytes too, where rows are long', () => {
    size.shrink(batch(1, 64, () => 'x'.repeat(100)));
    size.taken(batch(1, 8, () => 'x'.repeat(800)));
    expect(rows()).toBe(64);
  });

  it('is tried the more seldom the oftener more was too much, once in 64 at most', () => {
    size.shrink(batch(1, 200));
    const between: number[] = [];
    let taken = 0;
    for (let post = 0; post < 600; post += 1) {
      const now = batch(1, rows());
      if (now.entries.length > 100) {
        size.shrink(now);
        between.push(taken);
        taken = 0;
      } else {
        size.taken(now);
        taken += 1;
      }
    }
    expect(between.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 64, 64]);
  });

  it('is tried more often again once more was taken', () => {
    size.shrink(batch(1, 200));
    for (const needed of [1, 2, 4]) {
      for (let post = 0; post < needed; post += 1) size.taken(batch(1, 100));
      size.shrink(batch(1, 200));
    }
    for (let post = 0; post < 8; post += 1) size.taken(batch(1, 100));
    expect(rows()).toBe(200);
    for (let post = 0; post < 3; post += 1) size.taken(batch(1, 200));
    expect(rows()).toBe(200);
    size.taken(batch(1, 200));
    expect(rows()).toBe(400);
  });

  it('stays at what was taken while limits are no matter of size, and grows with the next post; a try fails only when less helps', () => {
    const probed = (): void => {
      size = new BatchSize();
      size.shrink(batch(1, 8));
      size.taken(batch(1, 4));
      size.limited(batch(5, 12));
      expect(rows()).toBe(4);
    };
    probed();
    size.limited(batch(5, 8));
    expect(rows()).toBe(4);
    size.taken(batch(5, 8));
    expect(rows()).toBe(8);
    probed();
    size.shrink(batch(5, 8));
    size.taken(batch(5, 6));
    expect(rows()).toBe(4);
  });

  it('begins to count anew with each time it shrinks', () => {
    size.shrink(batch(1, 200));
    size.taken(batch(1, 100));
    size.shrink(batch(1, 200));
    size.taken(batch(1, 100));
    size.shrink(batch(1, 100));
    size.taken(batch(1, 50));
    expect(rows()).toBe(50);
    size.taken(batch(1, 50));
    expect(rows()).toBe(100);
  });
});

describe('a search for the one at fault', () => {
  it('halves the rows of what was refused, whatever their length, and doubles after what was taken', () => {
    const whole = batch(1, 16);
    size.refused(whole);
    expect(size.within(CONFIGURED)).toEqual({ maxEntries: 8, maxBytes: whole.bytes });
    size.taken(batch(1, 8));
    expect(rows()).toBe(16);
  });

  it('finds it in a few steps also where the first part was shorter than half, and where text makes the rows long', () => {
    const all = batch(1, 1_000, (sequence) => (sequence < 400 ? 'x'.repeat(100) : 1));
    let posts = 0;
    size.refused(all);
    expect(size.partOf(all).entries.length).toBe(500);
    for (let first = 1; posts < 100; posts += 1) {
      const part = size.partOf(batch(first, 1_000));
      const last = part.entries.sequences.at(-1) as number;
      if (last < 900) {
        size.taken(part);
        first = last + 1;
      } else if (first === last) break;
      else size.refused(part);
    }
    expect(posts).toBeLessThan(20);
  });

  it('forgives the tries that were too much for the one at fault', () => {
    size.shrink(batch(1, 200));
    for (const needed of [1, 2, 4]) {
      for (let post = 0; post < needed; post += 1) size.taken(batch(1, 100));
      size.shrink(batch(1, 200));
    }
    size.found();
    size.taken(batch(1, 100));
    expect(rows()).toBe(200);
  });
});
