import { describe, expect, it } from 'vitest';
import { World } from '../../simulation/world.ts';
import type { CutAt } from '../../support/memory-files.ts';

const SECOND_MS = 1_000;

/** All that an agent can leave behind: on the disk, at the pins, on the line, at the platform, in the log, and what it said. */
function traces(world: World): unknown {
  const { disk, rig, network, durable, platform, deviceId, site, story } = world;
  const telemetry = platform.state.telemetry;
  return {
    disk: Object.fromEntries(disk.paths.map((path) => [path, disk.contentOf(path).toString('base64')])),
    // Doors move, and stations speak, by themselves.
    board: Object.entries(rig.record.counts()).filter(([what]) => /^(moved|written) /.test(what)),
    moves: site.outputs.map(({ line }) => rig.record.movesOf(line)),
    requests: network.requests.count,
    durable: durable.length,
    stored: [...telemetry.keys(deviceId)].map((key) => [
      key,
      [...telemetry.series(deviceId, key).scan(0, Number.MAX_SAFE_INTEGER)].length,
    ]),
    logged: story.logged.mostAnHour,
  };
}

/** A life with everything under way: a heater with a longest time, a pulse, uploads, polls, commits. */
async function busyWorld(seed: number): Promise<World> {
  const world = await World.make(seed);
  world.powerOn();
  await world.timeline.runUntil(120 * SECOND_MS);
  const { rpc } = world.platform;
  void rpc.call(world.deviceId, {
    method: 'setActuator',
    params: { name: 'heater', value: true },
    oneway: false,
    timeoutMs: 20_000,
  });
  void rpc.call(world.deviceId, {
    method: 'pulse',
    params: { name: 'flap', durationMs: 8_000 },
    oneway: false,
    timeoutMs: 20_000,
  });
  return world;
}

async function staysDead(world: World): Promise<void> {
  expect(world.life?.isDead).toBe(true);
  const before = traces(world);
  await world.timeline.runUntil(world.timeline.nowMs + 600 * SECOND_MS);
  expect(traces(world)).toEqual(before);
  await world.close();
}

describe('an agent that was killed', () => {
  it.each([1, 45, 130, 800, 1_700, 4_900, 7_950])(
    'writes, sends and moves nothing any more, %i ms into its commands',
    async (ms) => {
      const world = await busyWorld(ms);
      await world.timeline.runUntil(world.timeline.nowMs + ms);
      expect(world.life?.isDead).toBe(false);
      world.life?.kill();
      await staysDead(world);
    },
  );

  it.each<[CutAt, number]>([
    ['before', 1],
    ['inside', 1],
    ['after', 1],
    ['inside', 2],
    ['after', 3],
  ])('ends %s the change of the disk that it was at', async (at, changes) => {
    const world = await busyWorld(changes);
    world.disk.cutAt(changes, at, () => world.life?.kill());
    await world.timeline.runUntil(world.timeline.nowMs + 60 * SECOND_MS);
    await staysDead(world);
  });

  it('would have gone on', async () => {
    const world = await busyWorld(1);
    const before = traces(world);
    await world.timeline.runUntil(world.timeline.nowMs + 60 * SECOND_MS);
    expect(traces(world)).not.toEqual(before);
    expect(world.rig.record.movesOf('gpiochip0:22').map(({ value }) => value)).toEqual([1, 0]);
    await world.close();
  });
});
