/** The grid of reads by itself: how near to a point a time is that point. */
import { describe, expect, it } from 'vitest';
import { ReadGrid } from '../../../src/sensors/read-grid.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('a timer that fires early', () => {
  it.each([
    [997, 1_000],
    [997.9, 1_000],
    [998, 2_000],
    [1_000, 2_000],
  ])('at %d ms is followed by the read at %d ms', (sinceMs, nextMs) => {
    expect(new ReadGrid(new FakeClock({ monotonicMs: sinceMs }), 1_000, 0).lookAtMs(sinceMs)).toBe(nextMs);
  });

  it('by two milliseconds is due, and by more is not', () => {
    const clock = new FakeClock({ monotonicMs: 0, wallMs: 0 });
    expect([997.9, 998].map((atMs) => new ReadGrid(clock, 1_000).isDue(atMs))).toEqual([false, true]);
  });
});

it('a clock that steps past a point by half a second makes its read late, and by more passes it over', () => {
  const clock = new FakeClock({ monotonicMs: 0, wallMs: 0 });
  expect([1_500, 1_501].map((atMs) => new ReadGrid(clock, 60_000).isDue(atMs + 59_000))).toEqual([true, false]);
});

it('a point that a step of the clock went past lies between the two looks, by more than a timer is early', () => {
  const clock = new FakeClock({ monotonicMs: 0, wallMs: 0 });
  const passed = [59_990, 59_997.9, 59_998, 60_000].map((sinceMs) =>
    new ReadGrid(clock, 60_000).passedMs(sinceMs, 61_000),
  );
  expect(passed).toEqual([60_000, 60_000, undefined, undefined]);
});
