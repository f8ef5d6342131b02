import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SequenceRanges } from '../../../src/outbox/sequence-ranges.ts';

const range = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12 }))
  .map(([first, width]) => [first, first + width] as const);

describe('sequence ranges', () => {
  it('hold what a plain set of numbers holds', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), range, (added, [first, last]) => {
        const ranges = new SequenceRanges(added);
        const plain = new Set(added.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_none, at) => from + at)));
        const wanted = Array.from({ length: last - first + 1 }, (_none, at) => first + at);
        expect(ranges.covers(first, last)).toBe(wanted.every((one) => plain.has(one)));
        expect(ranges.touches(first, last)).toBe(wanted.some((one) => plain.has(one)));
        expect(ranges.countWithin(first, last)).toBe(wanted.filter((one) => plain.has(one)).length);
        expect(ranges.last).toBe(plain.size === 0 ? undefined : Math.max(...plain));
        expect(ranges.list().every(([from, to], at, all) => from <= to && (at === 0 || (all[at - 1]?.[1] ?? 0) + 1 < from))).toBe(true);
      }),
    );
  });

  it('forget what lies below a number', () => {
    const ranges = new SequenceRanges([
      [1, 10],
      [20, 30],
    ]);
    ranges.forgetBelow(25);
    expect(ranges.list()).toEqual([[25, 30]]);
  });
});
