/** Attached devices: each has what its own sensor showed, all of it and nothing else, and moves what is its own. */
import { type AttachedSlot, LOAD, ownerOf, SERIAL } from '../attached-devices.ts';
import type { AttachedCommand } from '../attached-people.ts';
import type { People } from '../people.ts';
import type { World } from '../world.ts';
import { deliveriesAt } from './delivery.ts';
import { isOnAt, onTimes } from './intervals.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** From giving a command to the last moment at which it may still move. */
const COMMAND_LIVES_MS = 60_000;
/** From a probe of the calm to its movement: polls beyond the cap take turns. */
const PROBED_WITHIN_MS = 60_000;

export const ATTACHED: readonly Sentence[] = [
  { name: 'no entry arrives at another device', contradictions: strayed },
  {
    name: 'whatever was called durable of an attached device is there, once, with its value and its time',
    contradictions: missing,
  },
  { name: 'an attached device has nothing that nobody took', contradictions: unexplained },
  { name: 'no command moves another device’s actuator', contradictions: moved },
  { name: 'when all is calm, a command to an attached device moves what is its own', contradictions: probed },
];

/** Judges by the values alone, whatever the agent calls their device. */
function strayed(world: World): string[] {
  const { attached } = world.site;
  if (attached.length === 0) return [];
  const atGateway = [LOAD, SERIAL].flatMap((key) =>
    world.identity.points(key).map(({ value, ts }) => `the gateway has ${key} = ${value} of ${ts}`),
  );
  const atOthers = attached.flatMap((slot) =>
    [...pointsOf(world, slot)].flatMap(([key, points]) =>
      points
        .filter(({ value }) => (ownerOf(key, value) ?? slot.number) !== slot.number)
        .map(
          ({ ts, value }) => `${slot.slot} has ${key} = ${value} of ${ts}, which meter${ownerOf(key, value)} showed`,
        ),
    ),
  );
  const ofNobody = world.durable
    .filter(({ entry: { device, key, value } }) => {
      const owner = ownerOf(key, value);
      return owner !== undefined && !isDeviceOf(attached[owner], device);
    })
    .map(({ entry }) => `${entry.key} = ${entry.value} is kept for ${entry.device}`);
  return few([...atGateway, ...atOthers, ...ofNobody]);
}

function missing(world: World): string[] {
  const gone = world.site.attached.flatMap((slot) =>
    judged(world, slot).missing.map((one) => `of ${slot.slot}, ${one}`),
  );
  // Entries that gave way are counted.
  const counted = world.life?.agent?.status().devices?.lostEntries ?? 0;
  return gone.length > counted ? few(gone) : [];
}

function unexplained(world: World): string[] {
  return few(
    world.site.attached.flatMap((slot) => judged(world, slot).unexplained.map((one) => `at ${slot.slot}, ${one}`)),
  );
}

function moved(world: World, { attached: { commands } }: People): string[] {
  const others = commands.filter(({ isItsOwn, answer }) => !isItsOwn && isDone(answer));
  const told = others.map(
    ({ to, relay, atMs }) => `${to ?? 'the gateway'} says that it moved ${relay}, asked at ${seconds(atMs)}`,
  );
  const strays = world.site.attached.flatMap(({ relay, slot }) =>
    relay === undefined
      ? []
      : onTimes(world, relay.line)
          .filter(({ fromMs }) => !commands.some((command) => mayMove(command, relay.name, fromMs)))
          .map(({ fromMs }) => `${relay.name} went on at ${seconds(fromMs)}, and nobody asked ${slot}`),
  );
  return few([...told, ...strays]);
}

function probed(world: World, { attached: { commands } }: People): string[] {
  const probes = commands.filter(({ isProbe }) => isProbe);
  return few(
    probes.flatMap(({ relay, value, atMs, answer }) => {
      if (!isDone(answer)) return [`${relay} was asked for at ${seconds(atMs)} and answered ${JSON.stringify(answer)}`];
      const line = world.site.attached.find((slot) => slot.relay?.name === relay)?.relay?.line ?? '';
      return isOnAt(world, line, atMs + PROBED_WITHIN_MS) === value
        ? []
        : [`${relay} is not as it was asked for at ${seconds(atMs)}`];
    }),
  );
}

function mayMove({ isItsOwn, relay, value, atMs }: AttachedCommand, name: string, fromMs: number): boolean {
  return isItsOwn && value && relay === name && fromMs >= atMs && fromMs <= atMs + COMMAND_LIVES_MS;
}

function isDone(answer: AttachedCommand['answer']): boolean {
  return typeof answer === 'object' && answer !== null && 'result' in answer;
}

/** Known by its slot; by its name where it has a serial number, once that is known. */
function isDeviceOf(slot: AttachedSlot | undefined, device: string): boolean {
  if (slot === undefined) return false;
  return slot.isBySerial ? device === slot.deviceName || device === `?${slot.slot}` : device === slot.slot;
}

function pointsOf({ platform }: World, { deviceName }: AttachedSlot): ReadonlyMap<string, readonly Point[]> {
  return platform.deviceView(deviceName)?.points ?? new Map();
}

type Point = ReturnType<World['identity']['points']>[number];

function judged(world: World, slot: AttachedSlot): ReturnType<typeof deliveriesAt> {
  return deliveriesAt(world, slot.slot, () => ({
    durable: world.durable.filter(({ entry }) => isDeviceOf(slot, entry.device)),
    points: pointsOf(world, slot),
  }));
}
