/** The time of a simulated world and work that is cut into steps of the loop. */
import { expect, it } from 'vitest';
import { nextTurn } from '../../../src/host/next-turn.ts';
import { Timeline } from '../../simulation/timeline.ts';

it.each([1, 2, 50])('stands while work of %d steps of the loop is done', async (steps) => {
  const timeline = new Timeline();
  let doneAtMs: number | undefined;
  timeline.after(1_000, async () => {
    for (let step = 0; step < steps; step += 1) await nextTurn();
    doneAtMs = timeline.nowMs;
  });
  for (let second = 2; second < 100; second += 1) timeline.after(second * 1_000, () => {});
  await timeline.runUntil(100_000);
  expect(doneAtMs).toBe(1_000);
});
