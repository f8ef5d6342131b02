/** Attached devices of a world: drawn apart, and judged by what their own sensors show, with no agent between. */
import { expect, it } from 'vitest';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import {
  type AttachedSlot,
  attachedDeedTimes,
  attachedLines,
  attachedOf,
  LOAD,
} from '../../simulation/attached-devices.ts';
import type { AttachedCommand } from '../../simulation/attached-people.ts';
import { WORLD_BEGINS_MS } from '../../simulation/board-clock.ts';
import type { People } from '../../simulation/people.ts';
import { drawnApart, siteYaml } from '../../simulation/site.ts';
import { ATTACHED } from '../../simulation/witness/attached.ts';
import type { World } from '../../simulation/world.ts';

const SEED = 5;
const ALWAYS = 1;
const SLOTS = attachedOf(SEED, ALWAYS);
const LATE_MS = 3_600_000;

interface Told {
  readonly device: string;
  readonly value: number;
}

it('are one to twenty of a world, each known by its name, its port and its line', () => {
  const worlds = Array.from({ length: 300 }, (_, seed) => attachedOf(seed, ALWAYS));
  expect(Math.min(...worlds.map((slots) => slots.length))).toBe(1);
  expect(Math.max(...worlds.map((slots) => slots.length))).toBe(20);
  for (const slots of worlds) {
    for (const of of [
      ({ deviceName }: AttachedSlot) => deviceName,
      ({ port }: AttachedSlot) => port,
      ({ slot }: AttachedSlot) => slot,
    ])
      expect(new Set(slots.map(of)).size).toBe(slots.length);
    expect(slots.filter(({ isBySerial, token }) => isBySerial && token !== undefined)).toEqual([]);
  }
  expect(
    worlds.flat().some(({ relay }) => relay !== undefined) && worlds.flat().some(({ isBySerial }) => isBySerial),
  ).toBe(true);
  expect(attachedDeedTimes(SEED, LATE_MS, SLOTS).length).toBeGreaterThan(3);
});

it('are in no world and change nothing while their share is nought', () => {
  expect(attachedOf(SEED, 0)).toEqual([]);
  expect(attachedDeedTimes(SEED, LATE_MS, [])).toEqual([]);
  const equipment = {
    sensors: ['  - { name: a }'],
    actuators: [],
    rules: [],
    outputs: [],
    periods: new Map(),
    parts: [],
  };
  const site = { ...equipment, lockout: false, smallOutbox: false };
  const without = siteYaml(site, { ...drawnApart(SEED), attached: [] }).split('\n');
  const withThem = siteYaml(site, { ...drawnApart(SEED), attached: SLOTS }).split('\n');
  const { devices, sensors, actuators } = attachedLines(SLOTS);
  const own = new Set(['devices:', ...devices, ...sensors, ...actuators]);
  const isText = (line: string): boolean => line !== '';
  expect(withThem.filter((line) => !own.has(line)).filter(isText)).toEqual(without.filter(isText));
  expect(withThem.filter((line) => own.has(line)).length).toBe(own.size);
});

it('have what they showed themselves, and nothing is said against it', async () => {
  const [first, second] = SLOTS as [AttachedSlot, AttachedSlot];
  const told = [toldOf(first), toldOf(second)];
  expect(await contradictions({ durable: told, arrived: told })).toEqual([]);
});

it('are seen to have what another one showed, be it sent or kept as another’s', async () => {
  const [first, second] = SLOTS as [AttachedSlot, AttachedSlot];
  const stray = { ...toldOf(first), device: second.deviceName };
  const sent = await contradictions({ durable: [toldOf(first)], arrived: [stray] });
  expect(sent).toEqual([
    expect.stringMatching(/^no entry arrives at another device: meter1 has load = 1000\.5 .*, which meter0 showed$/),
    expect.stringMatching(/^whatever was called durable .*: of meter0, load = 1000\.5 .* is not at the platform$/),
    expect.stringMatching(/^an attached device has nothing that nobody took: at meter1, load = 1000\.5 /),
  ]);
  expect(await contradictions({ durable: [stray], arrived: [] })).toContainEqual(
    expect.stringContaining('is kept for'),
  );
  const atGateway = await contradictions({ durable: [], arrived: [{ device: 'gateway', value: 1_000.5 }] });
  expect(atGateway).toEqual([
    expect.stringMatching(/^no entry arrives at another device: the gateway has load = 1000\.5 /),
  ]);
});

it('are seen to move what is another one’s, and to say so', async () => {
  const { relay, slot } = SLOTS.find((one) => one.relay !== undefined) as AttachedSlot;
  const command: AttachedCommand = {
    atMs: 1_000,
    to: slot,
    relay: relay?.name ?? '',
    value: true,
    isItsOwn: true,
    isProbe: false,
  };
  const moves = [{ line: relay?.line ?? '', atMs: 2_000 }];
  expect(await contradictions({ commands: [command], moves })).toEqual([]);
  const other = { ...command, to: undefined, isItsOwn: false };
  expect(await contradictions({ commands: [other], moves })).toEqual([
    expect.stringContaining(`${relay?.name} went on at 2.000 s`),
  ]);
  const own = { ...command, atMs: 1_500 };
  const told = await contradictions({ commands: [own, { ...other, answer: { result: { value: true } } }], moves });
  expect(told).toEqual([expect.stringContaining(`the gateway says that it moved ${relay?.name}`)]);
});

it('are seen to move nothing in the calm', async () => {
  const { relay, slot } = SLOTS.find((one) => one.relay !== undefined) as AttachedSlot;
  const probe: AttachedCommand = {
    atMs: 1_000,
    to: slot,
    relay: relay?.name ?? '',
    value: true,
    isItsOwn: true,
    isProbe: true,
  };
  expect(await contradictions({ commands: [probe] })).toEqual([expect.stringContaining('answered undefined')]);
  const answer = { result: { value: true } };
  expect(await contradictions({ commands: [{ ...probe, answer }] })).toEqual([
    expect.stringContaining('is not as it was asked for'),
  ]);
  expect(
    await contradictions({ commands: [{ ...probe, answer }], moves: [{ line: relay?.line ?? '', atMs: 2_000 }] }),
  ).toEqual([]);
});

function toldOf({ deviceName, number }: AttachedSlot): Told {
  return { device: deviceName, value: (number + 1) * 1_000 + 0.5 };
}

/** The device of its entries: a slot without a serial number is its own. */
function keptAs(deviceName: string): string {
  const slot = SLOTS.find((one) => one.deviceName === deviceName);
  return slot === undefined || slot.isBySerial ? deviceName : slot.slot;
}

/** All that the witness says of a world in which this was seen. */
async function contradictions({
  durable = [],
  arrived = [],
  commands = [],
  moves = [],
}: {
  readonly durable?: readonly Told[];
  readonly arrived?: readonly Told[];
  readonly commands?: readonly AttachedCommand[];
  readonly moves?: readonly { readonly line: string; readonly atMs: number }[];
}): Promise<readonly string[]> {
  const platform = await LocalPlatform.start({ port: 'none' });
  for (const name of ['gateway', ...SLOTS.map(({ deviceName }) => deviceName)]) platform.ensureDevice(name);
  for (const { device, value } of arrived)
    platform.state.saveTelemetry(platform.deviceView(device) as never, {
      ts: WORLD_BEGINS_MS + 500_000,
      values: { [LOAD]: value },
    });
  const gateway = platform.deviceView('gateway');
  const world = {
    platform,
    site: { attached: SLOTS, outputs: [] },
    identity: {
      points: (key: string) => gateway?.points.get(key) ?? [],
      keys: () => [...(gateway?.points.keys() ?? [])],
    },
    durable: durable.map(({ device, value }) => ({
      entry: {
        device: keptAs(device),
        key: LOAD,
        value: value as JsonValue,
        class: 'regular',
        bootId: 'boot',
        monotonicMs: 1,
      },
      takenAtMs: 500_000,
      toldAtMs: 500_000,
    })),
    timeline: { nowMs: LATE_MS },
    wall: { wrongTimes: [], unknownTimes: [], borrowedTimes: [] },
    lives: { ends: [] },
    fills: [],
    disk: { wasFaulty: false },
    movesOf: (line: string) => moves.filter((move) => move.line === line).map(({ atMs }) => ({ atMs, on: true })),
  } as unknown as World;
  const people = { attached: { commands } } as unknown as People;
  try {
    return ATTACHED.flatMap(({ name, contradictions: judge }) =>
      judge(world, people).map((words) => `${name}: ${words}`),
    );
  } finally {
    await platform.close();
  }
}
