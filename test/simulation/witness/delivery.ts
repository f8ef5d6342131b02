/** Delivery: every durable entry arrives once, unchanged, at its time, and nothing else does. */

import { segmentSizes } from '../../../src/outbox/outbox-parts.ts';
import { getOrInsert } from '../../../src/values/get-or-insert.ts';
import { type JsonValue, stringifyJson } from '../../../src/values/json.ts';
import { WORLD_BEGINS_MS } from '../board-clock.ts';
import type { Durable } from '../durable.ts';
import { gaveWayIn } from '../lives.ts';
import type { World } from '../world.ts';
import { matched } from './matching.ts';
import { few, type Sentence, seconds } from './sentence.ts';
import { SetAside } from './set-aside.ts';

/** How far a time may be off that could be known: two looks at two clocks, and steps that are noise. */
const TIME_TOLERANCE_MS = 500;
/** The platform's date stood in for the system's: whole seconds, and a slow line on its way. */
const BORROWED_TOLERANCE_MS = 4_000;
/** From being durable to being at the platform when nothing is wrong. */
const UNDER_WAY_MS = 20_000;
/** A step of the clock is seen by the agent's next look at it. */
const STEP_SEEN_MS = 15_000;
/** Keys of the outbox about itself, which no sensor gave. */
/** Device of the gateway's own entries. */
const GATEWAY = 'self';
const OWN_KEYS = new Set(['outboxThinned', 'outboxDropped', 'outboxDamaged']);
/** Two looks at two clocks, each in whole ms. */
const SAME_MOMENT_MS = 3;
/** Time in which entries of a killed life may arrive although nobody was told of them. */
const UNTOLD_MS = 60_000;
/** Alarms leave without a disk that takes nothing, and nobody is told that they are durable before it does. */
const UNTOLD_BY_A_FAILING_DISK_MS = 30 * 60_000;

/** Some entries take more on the disk than others. */
const SIZES_DIFFER = 2;
/** Bytes of an entry beside its value. */
const FRAME_BYTES = 4;
/** An outbox of this size has room for some ten dead letters: 1/256 of it. */
const FEW_LETTERS_BYTES = 1_000_000;
/** Share of its bound: the rest is kept for other files, and a commit that finds no room was larger than what is left. */
const FULL_SHARE = 0.85;

export const DELIVERY: readonly Sentence[] = [
  {
    name: 'whatever was called durable is at the platform, once, with its value and its time',
    // A dead letter of the end is tried again within hours. Entries that gave way on a full disk are counted, and reported as an alarm.
    contradictions: (world) => {
      const { missing, missingAlarms } = deliveries(world);
      const { dropped, thinned } = gaveWay(world);
      const { deadLetters = 0, rejected = 0 } = world.life?.agent?.status().outbox ?? {};
      const kept = deadLetters + (hasFewLetters(world) ? rejected : 0);
      if (missing.length > dropped + thinned + kept) return few(missing);
      return missingAlarms.length > dropped + kept ? few(missingAlarms) : [];
    },
  },
  {
    name: 'nothing gives way unless others fill the disk, or the outbox is full',
    contradictions: (world) => {
      const { dropped, thinned } = gaveWay(world);
      return dropped + thinned > 0 && world.fills.length === 0 && !isFullOutbox(world)
        ? [`${dropped + thinned} entries gave way`]
        : [];
    },
  },
  {
    name: 'while others fill the disk, what is new takes the place of the oldest, and what they take costs nothing',
    contradictions: (world) => {
      if (isFullOutbox(world)) return [];
      const inSegment = segmentSizes(world.site.config.outbox.maxBytes).segmentBytes / meanBytes(world.durable);
      return world.fills.flatMap(({ fromMs, untilMs, gaveWay: gone }) => {
        const taken = world.durable.filter(({ takenAtMs }) => takenAtMs >= fromMs && takenAtMs <= untilMs).length;
        return gone > SIZES_DIFFER * taken + inSegment
          ? [`${gone} entries gave way for ${taken} from ${seconds(fromMs)} to ${seconds(untilMs)}`]
          : [];
      });
    },
  },
  { name: 'the platform has nothing that nobody took', contradictions: (world) => few(deliveries(world).unexplained) },
  {
    name: 'nothing good is set aside',
    contradictions: (world) => {
      const rejected = world.life?.agent?.status().outbox.rejected ?? 0;
      return rejected > 0 && !hasFewLetters(world) ? [`${rejected} entries are set aside`] : [];
    },
  },
];

/** Between neighbours that leave so little room a boot whose clock was never right is placed by estimate. */
const ESTIMATE_MS = 125_000;

/** Entries of which the outbox said that they gave way undelivered: what it remembers, or what its lives said of themselves. */
function gaveWay({ life, lives, identity }: World): { readonly dropped: number; readonly thinned: number } {
  const most = (key: string, ...counts: readonly number[]): number =>
    Math.max(...counts, ...identity.points(key).map(({ value }) => Number(value)));
  const now = gaveWayIn(life);
  return {
    dropped: most('outboxDropped', now?.dropped ?? 0, lives.gaveWay.dropped),
    thinned: most('outboxThinned', now?.thinned ?? 0, lives.gaveWay.thinned),
  };
}

/** In a small outbox a platform that refuses good entries for minutes fills the queue, whose oldest are then set aside by the papers. */
function hasFewLetters({ site }: World): boolean {
  return site.config.outbox.maxBytes <= FEW_LETTERS_BYTES;
}

function isFullOutbox({ mostDiskBytes, site }: World): boolean {
  return mostDiskBytes > FULL_SHARE * site.config.outbox.maxBytes;
}

/** Returns the least mean size of a value as it is written. */
function meanBytes(durable: readonly Durable[]): number {
  return durable.reduce((sum, { entry }) => sum + stringifyJson(entry.value).length + FRAME_BYTES, 0) / durable.length;
}

interface Deliveries {
  readonly missing: readonly string[];
  readonly missingAlarms: readonly string[];
  readonly unexplained: readonly string[];
}

/** A device at the platform, and what was called durable of it. */
export interface Place {
  readonly durable: readonly Durable[];
  readonly points: ReadonlyMap<string, ReturnType<World['identity']['points']>>;
  /** Where a queue is that was set aside. */
  readonly aside?: SetAside;
}

const judged = new WeakMap<World, Map<string, Deliveries>>();

/** Deliveries of the gateway itself. */
function deliveries(world: World): Deliveries {
  return deliveriesAt(world, GATEWAY, () => ({
    durable: world.durable.filter(({ entry }) => entry.device === GATEWAY),
    points: new Map(world.identity.keys().map((key) => [key, world.identity.points(key)])),
    aside: new SetAside(world),
  }));
}

/** Judges a place of a world once. */
export function deliveriesAt(world: World, name: string, placeOf: () => Place): Deliveries {
  const places = getOrInsert(judged, world, () => new Map<string, Deliveries>());
  return getOrInsert(places, name, () => judge(world, placeOf()));
}

function judge(world: World, { durable: all, points: arrived, aside }: Place): Deliveries {
  const missing: string[] = [];
  const missingAlarms: string[] = [];
  const unexplained: string[] = [];
  const taken = Map.groupBy(all, ({ entry }) => entry.key);
  const keys = new Set([...taken.keys(), ...arrived.keys()]);
  for (const key of keys) {
    const points = arrived.get(key) ?? [];
    const stored = Map.groupBy(points, ({ value }) => spelled(value));
    const due = Map.groupBy(taken.get(key) ?? [], ({ entry }) => spelled(entry.value));
    for (const value of new Set([...stored.keys(), ...due.keys()])) {
      const times = (stored.get(value) ?? []).map(({ ts }) => ts).sort((a, b) => a - b);
      const left = new Set(times);
      const entries = due.get(value) ?? [];
      const found = matched(entries.map((durable) => candidates(world, durable, times)));
      for (const [n, ts] of found.entries()) {
        if (ts !== undefined) left.delete(ts);
        else if (isUnknown(world, entries[n]?.takenAtMs ?? 0) || isUnderWay(world, entries[n])) continue;
        else if (!isOverwritten(world, entries[n], points) && !isIn(aside, entries[n])) {
          const words = `${key} = ${value.slice(0, 80)} taken at ${seconds(entries[n]?.takenAtMs ?? 0)} is not at the platform`;
          missing.push(words);
          if (entries[n]?.entry.class === 'alarm') missingAlarms.push(words);
        }
      }
      for (const ts of left) {
        const atMs = ts - WORLD_BEGINS_MS;
        const untoldMs = world.disk.wasFaulty || world.fills.length > 0 ? UNTOLD_BY_A_FAILING_DISK_MS : UNTOLD_MS;
        const isUntold = world.lives.ends.some((endMs) =>
          offsetsOf(world).some((byMs) => isWithin(atMs - byMs, endMs - untoldMs, endMs)),
        );
        if (!isUntold && !OWN_KEYS.has(key) && !isUnknown(world, atMs, ESTIMATE_MS))
          unexplained.push(`${key} = ${value.slice(0, 80)} of ${seconds(atMs)} was taken by nobody`);
      }
    }
  }
  return { missing, missingAlarms, unexplained };
}

/** A whole number is the same however it is held. */
function spelled(value: JsonValue): string {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value).toString() : stringifyJson(value);
}

/** The stored times that may be an entry's, the best first. */
function candidates(world: World, { takenAtMs, entry }: Durable, times: readonly number[]): number[] {
  if (entry.takenAtMs !== undefined) return times.filter((ts) => ts === entry.takenAtMs);
  return wrongBy(world, takenAtMs).flatMap((byMs) => {
    const dueTs = WORLD_BEGINS_MS + takenAtMs + byMs;
    const toleranceMs = isBorrowed(world, takenAtMs) ? BORROWED_TOLERANCE_MS : TIME_TOLERANCE_MS;
    const near: number[] = [];
    for (
      let at = firstFrom(times, dueTs - toleranceMs);
      at < times.length && (times[at] as number) <= dueTs + toleranceMs;
      at += 1
    )
      near.push(times[at] as number);
    return near.sort((a, b) => Math.abs(a - dueTs) - Math.abs(b - dueTs));
  });
}

/** By how much the time of what was taken then may be wrong without anybody being able to know. */
function wrongBy(world: World, takenAtMs: number): number[] {
  const wrong = world.wall.wrongTimes.filter(({ fromMs, untilMs }) =>
    isWithin(takenAtMs, fromMs - STEP_SEEN_MS, untilMs + STEP_SEEN_MS),
  );
  return [0, ...wrong.map(({ byMs }) => byMs)];
}

function isUnderWay({ timeline }: World, durable: Durable | undefined): boolean {
  return durable !== undefined && durable.toldAtMs > timeline.nowMs - UNDER_WAY_MS;
}

/** Taken in a boot that ended before anybody could say what time it was: it is kept, or placed by estimate. */
function isUnknown(world: World, atMs: number, toleranceMs = 0): boolean {
  return world.wall.unknownTimes.some(
    ({ fromMs, untilMs }) => atMs >= fromMs - toleranceMs && atMs <= untilMs + toleranceMs,
  );
}

/** After a step back the clock came by the same times again: what the platform has of that very moment is another reading of the key. */
function isOverwritten(
  world: World,
  durable: Durable | undefined,
  points: readonly { readonly ts: number }[],
): boolean {
  if (durable === undefined || world.wall.wrongTimes.length === 0) return false;
  const dueTimes = wrongBy(world, durable.takenAtMs).map((byMs) => WORLD_BEGINS_MS + durable.takenAtMs + byMs);
  return points.some(({ ts }) => dueTimes.some((dueTs) => Math.abs(ts - dueTs) <= SAME_MOMENT_MS));
}

/** True when a card that was moved before its board had a device holds the entry aside: told in the log, and never sent as another's. */
function isIn(aside: SetAside | undefined, durable: Durable | undefined): boolean {
  return durable !== undefined && aside?.take(durable) === true;
}

/** Taken in a boot in which the system said for a while that its clock was not synchronised. */
function isBorrowed(world: World, atMs: number): boolean {
  return world.wall.borrowedTimes.some(({ fromMs, untilMs }) => atMs >= fromMs && atMs <= untilMs);
}

function offsetsOf(world: World): number[] {
  return [0, ...world.wall.wrongTimes.map(({ byMs }) => byMs)];
}

function isWithin(atMs: number, fromMs: number, untilMs: number): boolean {
  return atMs >= fromMs - TIME_TOLERANCE_MS && atMs <= untilMs + TIME_TOLERANCE_MS;
}

function firstFrom(times: readonly number[], fromTs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < fromTs) low = middle + 1;
    else high = middle;
  }
  return low;
}
