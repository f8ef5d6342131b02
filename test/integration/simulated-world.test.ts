/** The whole agent in a world of its own making, in virtual time: what is told of that world holds. */
import { expect, it } from 'vitest';
import { live } from '../simulation/live.ts';
import { planOf } from '../simulation/plan.ts';

it.each<[string, readonly string[]]>([
  ['nothing happens', []],
  ['the agent is killed and stopped, and the power fails', ['kill', 'power cut', 'stop']],
  ['the platform restarts, and the network is gone', ['platform restart', 'no network']],
])('nothing contradicts what is promised while %s', async (_what, only) => {
  const { durable, contradictions } = await live(planOf(7, { hours: 0.5, perHour: 12, deedsPerHour: 60, only }));
  expect(durable).toBeGreaterThan(100);
  expect(contradictions).toEqual([]);
});
