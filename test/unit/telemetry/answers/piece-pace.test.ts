import { expect, it } from 'vitest';
import { PiecePace } from '../../../../src/telemetry/answers/piece-pace.ts';

/** Pieces of a lane that always has more, each sent as soon as it may go: how many in so many minutes. */
function sentWithin(pace: PiecePace, fromMs: number, minutes: number): number {
  const untilMs = fromMs + minutes * 60_000;
  let sent = 0;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 100 + pace.after('backlog', nowMs)) sent += 1;
  return sent;
}

it('lets pieces follow each other slowly for most of an hour, and then as fast as they pass until the lane is through', () => {
  const pace = new PiecePace();
  const first = sentWithin(pace, 0, 45);
  expect([first > 1_500, first < 45 * 41]).toEqual([true, true]);
  expect(sentWithin(pace, 45 * 60_000, 30)).toBeGreaterThan(10_000);
  pace.afterWhole('live');
  expect(sentWithin(pace, 75 * 60_000, 1)).toBeGreaterThan(500);
  pace.afterWhole('backlog');
  expect(sentWithin(pace, 80 * 60_000, 1)).toBeLessThan(60);
});

it('lets eleven go at once, each one after them 1.5 s later, and the one after two thousand at once', () => {
  const pace = new PiecePace();
  const waits = Array.from({ length: 2_001 }, () => pace.after('live', 0));
  expect(waits).toEqual([...Array(11).fill(0), ...Array.from({ length: 1_989 }, (_none, at) => 1_500 * (at + 1)), 0]);
});

it('never lets an alarm wait', () => {
  const pace = new PiecePace();
  for (let piece = 0; piece < 100; piece += 1) expect(pace.after('alarm', 0)).toBe(0);
});
