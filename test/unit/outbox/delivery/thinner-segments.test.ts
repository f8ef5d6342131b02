/** What decimation leaves of entries, and how many a segment is said to hold. */
import { describe, expect, it } from 'vitest';
import { heldIn } from '../../../../src/outbox/delivery/segment-count.ts';
import { SequenceRanges } from '../../../../src/outbox/delivery/sequence-ranges.ts';
import { decimate } from '../../../../src/outbox/delivery/thinning.ts';
import type { BlockInfo } from '../../../../src/outbox/format/block-frame.ts';
import type { BlockEntries } from '../../../../src/outbox/format/block-payload.ts';
import type { Segment } from '../../../../src/outbox/segments/segment-shelf.ts';
import type { JsonValue } from '../../../../src/values/json.ts';

type Row = readonly [key: string, value: JsonValue, device?: string];

function entries(...rows: readonly Row[]): BlockEntries {
  return {
    devices: rows.map(([, , device = 'self']) => device),
    keys: rows.map(([key]) => key),
    values: rows.map(([, value]) => value),
    monotonicMs: rows.map((_row, at) => 10 * at),
    takenAtMs: rows.map((_row, at) => 1_000 + at),
    sequences: rows.map((_row, at) => 50 + at),
  };
}

const left = (...rows: readonly Row[]): JsonValue[] => [...decimate(entries(...rows)).values];
const ofKey = (...values: readonly JsonValue[]): Row[] => values.map((value) => ['k', value]);

describe('decimation', () => {
  it('keeps every second sample, the first, the last, the least and the greatest', () => {
    expect(left(...ofKey(5, 5, 5, 5, 5, 5))).toHaveLength(4);
    expect(left(...ofKey(5, 9, 5, 1, 5))).toEqual([5, 9, 5, 1, 5]);
    expect(left(...ofKey(3, 4, 5, 6, 7))).toEqual([3, 5, 7]);
    expect(left(...ofKey(3, 4, 5, 6))).toEqual([3, 5, 6]);
    expect(left(...ofKey(3, 2, 3, 2, 3))).toEqual([3, 2, 3, 3]);
    expect(left(...ofKey(3, 4, 3, 4, 3))).toEqual([3, 4, 3, 3]);
    expect(left(...ofKey(1))).toEqual([1]);
    // Next to each other as doubles they are one and the same.
    const top = 2n ** 60n;
    expect(left(...ofKey(top, top + 1n, top, top - 1n, top))).toEqual([top, top + 1n, top, top - 1n, top]);
    expect(left(...ofKey(5, top, 5, -top, 5))).toEqual([5, top, 5, -top, 5]);
  });

  it('knows no least or greatest of what is no number', () => {
    expect(left(...ofKey('b', 'z', 'b', 'a', 'b'))).toEqual(['b', 'b', 'b']);
    expect(left(...ofKey(1, 'z', 3, null, 5))).toEqual([1, 3, 5]);
  });

  it('looks at each key of each device by itself, and keeps rows whole', () => {
    const thinner = decimate(
      entries(['a', 1], ['b', 1], ['a', 2, 'other'], ['a', 2], ['b', 2], ['a', 3], ['b', 3], ['a', 3, 'other']),
    );
    expect(thinner).toEqual({
      devices: ['self', 'self', 'other', 'self', 'self', 'other'],
      keys: ['a', 'b', 'a', 'a', 'b', 'a'],
      values: [1, 1, 2, 3, 3, 3],
      monotonicMs: [0, 10, 20, 50, 60, 70],
      takenAtMs: [1_000, 1_001, 1_002, 1_005, 1_006, 1_007],
      sequences: [50, 51, 52, 55, 56, 57],
    });
  });
});

describe('what a segment holds', () => {
  const segment = (more: Partial<Segment> = {}): Segment => ({
    name: 's',
    firstSequence: 1,
    lastSequence: 100,
    bytes: 1,
    thinned: 0,
    count: 100,
    damagedBytes: 0,
    ...more,
  });
  const block = (firstSequence: number, lastSequence: number, count: number) =>
    ({
      firstSequence,
      lastSequence,
      count,
      offset: 0,
      bytes: 1,
      alarm: false,
      ownTime: false,
      gaps: false,
      firstMs: 0,
      lastMs: 0,
      bootId: 'b',
    }) as const;

  it('is its numbers without those that were delivered, while its blocks are not known', () => {
    expect(heldIn(segment(), undefined, new SequenceRanges())).toBe(100);
    expect(heldIn(segment(), undefined, new SequenceRanges([[91, 120]]))).toBe(90);
    expect(heldIn(segment(), undefined, new SequenceRanges([[1, 100]]))).toBe(0);
    expect(heldIn(segment({ lastSequence: 0 }), undefined, new SequenceRanges())).toBe(0);
    // It may have been thinned after what is settled was delivered: then all that it holds waits.
    expect(heldIn(segment({ thinned: 1, count: 40 }), undefined, new SequenceRanges([[1, 50]]))).toBe(40);
    expect(heldIn(segment({ thinned: 1, count: 5 }), undefined, new SequenceRanges([[1, 95]]))).toBe(5);
    expect(heldIn(segment({ thinned: 1, count: 2 }), undefined, new SequenceRanges([[2, 99]]))).toBe(2);
    expect(heldIn(segment({ thinned: 1, count: 40 }), undefined, new SequenceRanges([[1, 99]]))).toBe(1);
    expect(heldIn(segment({ thinned: 1, count: 40 }), undefined, new SequenceRanges([[1, 100]]))).toBe(0);
    // Ten were lost to damage: what is left is what was not settled, and no share of it.
    expect(heldIn(segment({ count: 90 }), undefined, new SequenceRanges([[1, 50]]))).toBe(50);
  });

  it('is what its blocks hold, where they are known: fewer than their numbers after thinning', () => {
    const blocks = [block(1, 50, 20), block(51, 100, 50)];
    expect(heldIn(segment(), blocks, new SequenceRanges())).toBe(70);
    expect(heldIn(segment(), blocks, new SequenceRanges([[1, 50]]))).toBe(50);
    expect(heldIn(segment(), blocks, new SequenceRanges([[1, 60]]))).toBe(40);
    // Five numbers wait, at most: which ones the thinning took, only the block itself says.
    expect(heldIn(segment(), blocks, new SequenceRanges([[1, 45]]))).toBe(55);
    const sequences = new Map([
      [blocks[0] as BlockInfo, Array.from({ length: 20 }, (_none, at) => 1 + 2 * at + (at > 17 ? 10 : 0))],
    ]);
    expect(heldIn(segment(), blocks, new SequenceRanges([[1, 45]]), sequences)).toBe(52);
    expect(heldIn(segment(), blocks, new SequenceRanges([[1, 100]]))).toBe(0);
  });
});
