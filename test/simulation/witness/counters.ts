/** Totals of counters, held against the edges that were on their lines. */
import type { World } from '../world.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** A reading is of a moment, and an edge may be on either side of it. */
const EDGE = 1;
/** A total is saved a minute after the first pulse that is not; pulses come every ten seconds, and a sound disk takes a few. */
const SAVED_WITHIN_MS = 80_000;
const STEP_MS = 5_000;
/** A stop saves the total before it is over. */
const STOPPING_MS = 10_000;

export const COUNTERS: readonly Sentence[] = [
  { name: 'a counter counts no pulse twice', contradictions: doubled },
  {
    name: 'a counter loses no pulse but those that nobody saw, and what was not saved when a life was cut short',
    contradictions: lost,
  },
];

interface Total {
  readonly atMs: number;
  readonly value: number;
}

interface Counter {
  readonly key: string;
  readonly name: string;
  readonly totals: readonly Total[];
  readonly edges: readonly number[];
}

/** Pulses that a total is ahead of the line's: this never grows. */
function doubled(world: World): string[] {
  return few(
    counters(world).flatMap(({ key, totals, edges }) => {
      let least = Number.POSITIVE_INFINITY;
      return totals.flatMap(({ atMs, value }) => {
        const ahead = value - edgesUntil(edges, atMs);
        const before = least;
        least = Math.min(least, ahead);
        return ahead > before + EDGE ? [`${key} of ${seconds(atMs)} is ${ahead - before} too high`] : [];
      });
    }),
  );
}

function lost(world: World): string[] {
  return few(
    counters(world).flatMap((counter) =>
      counter.totals.slice(1).flatMap((after, n) => {
        const before = counter.totals[n] as Total;
        const isDiskSound = world.diskTroubles.within(before.atMs - SAVED_WITHIN_MS, after.atMs) === 0;
        if (after.value < before.value && isDiskSound)
          return [`${counter.key} steps back by ${before.value - after.value} at ${seconds(after.atMs)}`];
        const passed = edgesUntil(counter.edges, after.atMs) - edgesUntil(counter.edges, before.atMs);
        const missing = passed - (after.value - before.value);
        const allowed = edgesBetween(
          counter.edges,
          unseenSince(world, counter.name, [before.atMs, after.atMs]),
          after.atMs,
        );
        return missing > allowed + EDGE
          ? [`${missing} pulses are missing from ${counter.key} before ${seconds(after.atMs)}`]
          : [];
      }),
    ),
  );
}

/** From when on pulses may be unknown to whoever counted last before the end of that time; its end when none may. */
function unseenSince(world: World, sensor: string, [fromMs, untilMs]: readonly [number, number]): number {
  const ended = world.lives.ends.find((endMs) => endMs >= fromMs - STOPPING_MS && endMs <= untilMs);
  if (ended !== undefined) {
    // A hindrance at the pins kept pulses from the process that then saved what it had seen.
    const unseenMs = world.hindrances.within(fromMs, ended) > 0 ? fromMs : untilMs;
    const wasSaved =
      world.lives.stops.includes(ended) && world.diskTroubles.within(ended - SAVED_WITHIN_MS, ended) === 0;
    return Math.min(unseenMs, wasSaved ? ended - STOPPING_MS : Math.min(fromMs, savedBefore(world, ended)));
  }
  const isHindered =
    world.hindrances.within(fromMs, untilMs) > 0 ||
    world.pins.muteTimes.some((mute) => mute.fromMs <= untilMs && mute.untilMs >= fromMs) ||
    world.configuration.isWithout(sensor, fromMs, untilMs);
  return isHindered ? fromMs : untilMs;
}

/** The last moment of which it is sure that a total of it or later had been saved by then. */
function savedBefore(world: World, endMs: number): number {
  let clearMs = 0;
  let atMs = endMs;
  while (atMs > 0 && clearMs < SAVED_WITHIN_MS) {
    const isClear =
      world.diskTroubles.within(atMs - STEP_MS, atMs) === 0 && world.hindrances.within(atMs - STEP_MS, atMs) === 0;
    clearMs = isClear ? clearMs + STEP_MS : 0;
    atMs -= STEP_MS;
  }
  return atMs;
}

/** As far back as the board remembers its edges. */
function counters(world: World): Counter[] {
  return world.site.config.sensors.flatMap((sensor) => {
    const key = sensor.keys.total?.rename;
    if (sensor.kind !== 'gpio-counter' || key === undefined || typeof sensor.line !== 'object') return [];
    const moves = world.movesOf(`${sensor.line.chip}:${sensor.line.offset}`);
    const edges = moves.filter(({ on }) => on).map(({ atMs }) => atMs);
    const totals = world.durable
      .filter(({ entry, takenAtMs }) => entry.key === key && takenAtMs >= (edges[0] ?? Number.POSITIVE_INFINITY))
      .map(({ entry, takenAtMs }) => ({ atMs: takenAtMs, value: Number(entry.value) }))
      .sort((a, b) => a.atMs - b.atMs);
    return [{ key, name: sensor.name, totals, edges }];
  });
}

function edgesBetween(edges: readonly number[], fromMs: number, untilMs: number): number {
  return edgesUntil(edges, untilMs) - edgesUntil(edges, fromMs);
}

/** They are in order. */
function edgesUntil(edges: readonly number[], atMs: number): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] as number) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
