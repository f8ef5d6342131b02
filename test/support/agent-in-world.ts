/** A world with its agent started: what a start really reads and loads takes its own time, in which that of the world must not run away. */
import { onTestFinished } from 'vitest';
import { World } from '../simulation/world.ts';

const STEP_MS = 100;

/** `prepare` sets what the agent finds when the power comes. */
export async function worldWithAgent(prepare: (world: World) => void): Promise<World> {
  const random = Math.random;
  const world = await World.make(7, { sensors: 1 });
  onTestFinished(async () => {
    await world.close();
    Math.random = random;
  });
  prepare(world);
  world.powerOn();
  while (world.life?.agent === undefined && world.lives.deaths.length === 0) {
    await world.timeline.runUntil(world.timeline.nowMs + STEP_MS);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return world;
}
