/** Curves of proportional control: linear between points, held outside them, and moved by steps. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { curveValue } from '../../../src/actuators/rule-curve.ts';

const POINTS = [
  [0, 100],
  [10, 0],
  [30, 50],
];
const use = { before: undefined, step: undefined, origin: 0 };

it('is linear between its points and held outside them', () => {
  expect([-5, 0, 2.5, 10, 20, 30, 99].map((reading) => curveValue(POINTS, reading, use))).toEqual([
    100, 100, 75, 0, 25, 50, 50,
  ]);
});

it('reaches its lowest and highest values, however near it was before', () => {
  const near = [0.4, 99.6].map((before) => curveValue(POINTS, before < 50 ? 10 : 0, { ...use, before }));
  expect(near).toEqual([0, 100]);
  expect(curveValue(POINTS, 5, { ...use, before: 50.4 })).toBe(50.4);
});

it('stays within its span, on the steps of its actuator, and less than a step from where it belongs', () => {
  const number = fc.integer({ min: -100, max: 200 }).map((n) => n / 4);
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 30 }), (readings) => {
      let before: number | undefined;
      for (const reading of readings) {
        const value = curveValue(POINTS, reading, { before, step: 5, origin: 0 });
        expect([value >= 0 && value <= 100, value % 5, Math.abs(value - curveValue(POINTS, reading, use)) < 5]).toEqual(
          [true, 0, true],
        );
        before = value;
      }
    }),
  );
});
