/** Relays that do not move hang on a chip, and take no more than that does. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BoardFault } from '../../../src/hardware/board-protocol.ts';
import { Boot } from '../../simulation/boot.ts';
import { FieldLine } from '../../simulation/field.ts';
import { World } from '../../simulation/world.ts';
import { codeOf } from '../../support/actuator-bench.ts';

let world: World;
let field: FieldLine;
let handle: number;

const FLAP = 'gpiochip0:22';

beforeEach(async () => {
  world = await World.make(1);
  const boot = new Boot(world.timeline, 'boot');
  field = new FieldLine({
    operations: world.rig.operations,
    boot,
    pins: world.pins,
    later: (_port, deliver) => deliver(),
  });
  const never = new AbortController().signal;
  ({ handle } = await field.request('gpio.openOutput', { line: { chip: 'gpiochip0', offset: 22 }, initial: 0 }, never));
});

afterEach(() => world.close());

/** Returns the immediate outcome of a write. */
async function write(): Promise<unknown> {
  const ended = new AbortController();
  const writing = codeOf(field.request('gpio.write', { handle, level: 1 }, ended.signal));
  await world.timeline.runUntil(world.timeline.nowMs + 1_000);
  ended.abort();
  return await writing;
}

it('take what they are told and stay as they are, until they are free again', async () => {
  const free = world.pins.jam();
  expect([await write(), world.rig.record.movesOf(FLAP)]).toEqual(['moved', []]);
  free();
  expect([await write(), world.rig.record.movesOf(FLAP).map(({ value }) => value)]).toEqual(['moved', [1]]);
});

it.each<[string, BoardFault, string]>([
  ['gpiochip0', 'unplug', 'hardware/gpio-failed'],
  ['gpio', 'hang', 'hardware/deadline'],
])('take nothing from %s: %s', async (target, fault, outcome) => {
  world.pins.jam();
  world.rig.breakPart(target, fault);
  expect([await write(), world.rig.record.movesOf(FLAP)]).toEqual([outcome, []]);
});
