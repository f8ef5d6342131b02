/** Wakes of everything fall together. */
import { expect, it } from 'vitest';
import { untilWakeMs } from './wake-grid.ts';

it.each([
  [0, 900_000, 900_000],
  [899_999.5, 900_000, 1],
  [900_000, 900_000, 900_000],
  [1_000_000, undefined, 0],
  [5, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
])('at %d with a wake every %d ms the next is in %d ms', (nowMs, everyMs, untilMs) => {
  expect(untilWakeMs({ monotonicMs: () => nowMs }, everyMs)).toBe(untilMs);
});
