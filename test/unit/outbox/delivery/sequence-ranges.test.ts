import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SequenceRanges } from '../../../../src/outbox/delivery/sequence-ranges.ts';

const range = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12 }))
  .map(([first, width]) => [first, first + width] as const);

describe('sequence ranges', () => {
  it('hold what a plain set of numbers holds', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), range, (added, [first, last]) => {
        const ranges = new SequenceRanges(added);
        const plain = new Set(
          added.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_none, at) => from + at)),
        );
        const wanted = Array.from({ length: last - first + 1 }, (_none, at) => first + at);
        expect(ranges.covers(first, last)).toBe(wanted.every((one) => plain.has(one)));
        expect(ranges.touches(first, last)).toBe(wanted.some((one) => plain.has(one)));
        expect(ranges.countWithin(first, last)).toBe(wanted.filter((one) => plain.has(one)).length);
        expect(ranges.last).toBe(plain.size === 0 ? undefined : Math.max(...plain));
        expect(
          ranges.list().every(([from, to], at, all) => from <= to && (at === 0 || (all[at - 1]?.[1] ?? 0) + 1 < from)),
        ).toBe(true);
      }),
    );
  });

  it('cover together with others, and take from others, what plain sets would', () => {
    fc.assert(
      fc.property(
        fc.array(range, { maxLength: 12 }),
        fc.array(range, { maxLength: 12 }),
        range,
        (mine, others, [first, last]) => {
          const numbersOf = (ranges: readonly (readonly [number, number])[]): number[] =>
            ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_none, at) => from + at));
          const [own, other] = [new Set(numbersOf(mine)), new Set(numbersOf(others))];
          const ranges = new SequenceRanges(mine);
          const wanted = numbersOf([[first, last]]);
          expect(ranges.coversWith(new SequenceRanges(others), first, last)).toBe(
            wanted.every((one) => own.has(one) || other.has(one)),
          );
          const left = ranges.without(new SequenceRanges(others).list());
          expect(numbersOf(left)).toEqual([...other].filter((one) => !own.has(one)).sort((a, b) => a - b));
        },
      ),
    );
  });

  it('lose what is taken out or forgotten, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), range, (added, [first, last]) => {
        const plain = [
          ...new Set(added.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_none, at) => from + at))),
        ];
        const [taken, forgotten] = [new SequenceRanges(added), new SequenceRanges(added)];
        taken.remove(first, last);
        forgotten.forgetBelow(first);
        for (let one = 0; one <= 75; one += 1) {
          expect(taken.has(one)).toBe(plain.includes(one) && (one < first || one > last));
          expect(forgotten.has(one)).toBe(plain.includes(one) && one >= first);
        }
      }),
    );
  });

  it('tell which range covers another', () => {
    const ranges = new SequenceRanges([
      [1, 10],
      [20, 30],
    ]);
    expect([
      ranges.rangeOf(20, 30),
      ranges.rangeOf(3, 3),
      ranges.rangeOf(10, 20),
      ranges.rangeOf(0, 1),
      ranges.rangeOf(30, 31),
    ]).toEqual([[20, 30], [1, 10], undefined, undefined, undefined]);
    expect(new SequenceRanges().last).toBeUndefined();
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
