/** Inputs that somebody holds stay held while the board has no power, and the world remembers it so. */
import { expect, it } from 'vitest';
import { KEY_SWITCH } from '../../simulation/equipment.ts';
import { onTimes } from '../../simulation/witness/intervals.ts';
import { World } from '../../simulation/world.ts';

const SECOND_MS = 1_000;

it.each([
  ['after the power came back', 60],
  ['while there is no power', 33],
])('is on without a gap from when the key switch is turned until it is let go, %s', async (_when, letGoAtSeconds) => {
  const world = await World.make(1);
  world.powerOn();
  let letGo = (): void => {};
  world.timeline.after(20 * SECOND_MS, () => {
    letGo = world.rig.hold(KEY_SWITCH, 1);
  });
  world.timeline.after(30 * SECOND_MS, () => world.cutPower(5 * SECOND_MS));
  world.timeline.after(letGoAtSeconds * SECOND_MS, () => letGo());
  await world.timeline.runUntil(90 * SECOND_MS);
  expect(onTimes(world, KEY_SWITCH)).toEqual([{ fromMs: 20 * SECOND_MS, untilMs: letGoAtSeconds * SECOND_MS }]);
  await world.close();
});

it('lets the outputs fall with the power', async () => {
  const world = await World.make(1);
  world.powerOn();
  await world.timeline.runUntil(30 * SECOND_MS);
  world.cutPower(60 * SECOND_MS);
  await world.timeline.runUntil(40 * SECOND_MS);
  for (const { line } of world.site.outputs)
    expect(onTimes(world, line).every(({ untilMs }) => untilMs <= 30 * SECOND_MS)).toBe(true);
  await world.close();
});
