/** The record at the gateway itself: what happened, and plots of what was read. */
import { plottedNumber } from '../../../src/values/plotted-number.ts';
import { WORLD_BEGINS_MS } from '../board-clock.ts';
import { BAND_MS, LOOK_EVERY_MS, type Plot, type SeenEvent } from '../page-reader.ts';
import type { Command, People } from '../people.ts';
import type { World } from '../world.ts';
import { few, type Sentence, seconds } from './sentence.ts';

/** A life that runs so long has read and shown what those before it told. */
const SHOWN_WITHIN_MS = 3 * LOOK_EVERY_MS;
/** A command is on the disk by then. */
const COMMAND_WRITTEN_MS = 1_000;
/** Two looks at two clocks. */
const TOLERANCE_MS = 500;
/** What has arrived is written at this age at the latest; and a write takes its time. */
const RECORD_AGE_MS = 5 * 60_000 + 5_000;

export const RECORD: readonly Sentence[] = [
  {
    name: 'an event keeps its number, and no number comes twice or goes back',
    contradictions: ({ reader }) => few(reader.numberFaults),
  },
  { name: 'the timeline has each start, stop and command, in order', contradictions: happened },
  {
    name: 'the timeline has each outage, and its end',
    contradictions: ({ reader }) => few(reader.contactFaults),
  },
  {
    name: 'a plot shows what was read, but minutes of the record that a kill or a cut took, and nothing else',
    contradictions: plotted,
  },
];

function happened(world: World, { commands }: People): string[] {
  // What a disk lost is lost, and it says so in other words.
  if (world.disk.wasFaulty || world.fills.length > 0) return [];
  const { seen } = world.reader;
  const starts = seen.filter(({ event }) => event.kind === 'start');
  const missingStarts = world.lives.starts
    .filter(({ untilMs }) => hasRun(world, untilMs))
    .filter(({ fromMs, untilMs }) => !starts.some((one) => isStart(one) && isWithin(one, fromMs, untilMs)))
    .map(({ fromMs }) => `the start of ${seconds(fromMs)} is missing`);
  const missingStops = world.lives.stops
    .filter((endMs) => {
      const next = world.lives.starts.find(({ fromMs }) => fromMs >= endMs);
      return next !== undefined && hasRun(world, next.untilMs) && !wasCut(world, endMs, next.untilMs);
    })
    .filter((endMs) => !starts.some((one) => !isStart(one) && one.afterMs <= endMs && one.atMs >= endMs))
    .map((endMs) => `the stop of ${seconds(endMs)} is missing`);
  const told = new Set<SeenEvent>();
  const missingCommands = commands
    .filter((command) => isTold(world, command))
    .flatMap((command) => {
      const found = seen.find((one) => !told.has(one) && isOf(one, command));
      if (found !== undefined) told.add(found);
      return found === undefined ? [`${command.method} of ${seconds(command.atMs)} is missing`] : [];
    });
  return few([...missingStarts, ...missingStops, ...missingCommands, ...outOfOrder(world)]);
}

function isStart({ event }: SeenEvent): boolean {
  return event.by !== 'stop';
}

function isWithin({ atMs }: SeenEvent, fromMs: number, untilMs: number): boolean {
  return atMs >= fromMs && atMs <= untilMs + SHOWN_WITHIN_MS;
}

/** True when the life that said so then ran on until somebody had looked. */
function hasRun({ lives, timeline }: World, fromMs: number): boolean {
  const endMs = lives.ends.find((one) => one >= fromMs) ?? timeline.nowMs;
  return endMs > fromMs + SHOWN_WITHIN_MS;
}

function wasCut({ rig }: World, fromMs: number, untilMs: number): boolean {
  return rig.cuts.some((atMs) => atMs >= fromMs && atMs <= untilMs);
}

/** A command that was answered, by a life that went on, and at which somebody looked before a power cut. */
function isTold(world: World, { answer, answeredAtMs, atMs, oneway }: Command): boolean {
  const { lives, timeline } = world;
  if (oneway || answeredAtMs === undefined || resultIn(answer) === undefined) return false;
  const untilMs = answeredAtMs + COMMAND_WRITTEN_MS;
  const isCutShort = lives.ends.some((endMs) => endMs >= atMs && endMs <= untilMs);
  const next = lives.ends.find((endMs) => endMs > untilMs) ?? timeline.nowMs;
  const seenBy = next > untilMs + LOOK_EVERY_MS ? untilMs + LOOK_EVERY_MS : firstLookAfter(world, next);
  return !isCutShort && seenBy !== undefined && seenBy <= timeline.nowMs && !wasCut(world, atMs, seenBy);
}

/** When somebody has looked at the life that began after this. */
function firstLookAfter(world: World, endMs: number): number | undefined {
  const next = world.lives.starts.find(({ fromMs }) => fromMs >= endMs);
  return next !== undefined && hasRun(world, next.untilMs) ? next.untilMs + SHOWN_WITHIN_MS : undefined;
}

function isOf({ event, afterMs, atMs }: SeenEvent, command: Command): boolean {
  const { kind, by, key, actuator, value } = event;
  const { name, value: due } = resultIn(command.answer) ?? {};
  return (
    kind === 'command' &&
    by === 'rpc' &&
    key === command.method &&
    actuator === name &&
    value === due &&
    atMs >= command.atMs &&
    afterMs <= (command.answeredAtMs ?? 0)
  );
}

function resultIn(answer: Command['answer']): { readonly name: unknown; readonly value: unknown } | undefined {
  const { result } = (typeof answer === 'object' && answer !== null ? answer : {}) as { readonly result?: unknown };
  return typeof result === 'object' && result !== null && 'name' in result && 'value' in result ? result : undefined;
}

/** Times go with the numbers where the clock was right all the time. */
function outOfOrder(world: World): string[] {
  if (!wasClockRight(world)) return [];
  return world.reader.seen.flatMap(({ event }, n, all) => {
    const before = all[n - 1]?.event;
    return before !== undefined && event.seq > before.seq && event.ts < before.ts
      ? [`${event.seq} is of ${event.ts - before.ts} ms before ${before.seq}`]
      : [];
  });
}

function wasClockRight({ wall }: World): boolean {
  return wall.wrongTimes.length === 0 && wall.borrowedTimes.length === 0 && wall.unknownTimes.length === 0;
}

/** A number that was read, by what was called durable or arrived. */
interface Read {
  /** In the world's time. */
  readonly atMs: number;
  readonly value: number;
  /** When it was said to be at the platform or on the disk; of one that only arrived nobody was told. */
  readonly toldAtMs?: number;
}

function plotted(world: World): string[] {
  if (!wasClockRight(world)) return [];
  const plots = Map.groupBy(world.reader.plots, ({ key }) => key);
  return few([...plots].flatMap(([key, all]) => plottedOf(world, all, readOf(world, key))));
}

function plottedOf(world: World, plots: readonly Plot[], read: readonly Read[]): string[] {
  return plots.flatMap(({ key, atMs, bands }) => {
    const strange = bands.flatMap(({ fromMs, least, greatest }) => {
      const values = read.filter(
        (one) => one.atMs >= fromMs - TOLERANCE_MS && one.atMs <= fromMs + BAND_MS + TOLERANCE_MS,
      );
      const isRead = [least, greatest].every((shown) => values.some(({ value }) => value === shown));
      return isRead ? [] : [`${key} is shown as ${least} to ${greatest} from ${seconds(fromMs)}, and was not`];
    });
    const left = mayBeMissing(world)
      ? []
      : read
          .filter(({ toldAtMs = Number.POSITIVE_INFINITY }) => toldAtMs < atMs - TOLERANCE_MS)
          .filter((one) => !mayBeUnwritten(world, one, atMs))
          .filter(
            (one) =>
              !bands.some(
                ({ fromMs, least, greatest }) =>
                  one.atMs >= fromMs - TOLERANCE_MS &&
                  one.atMs <= fromMs + BAND_MS + TOLERANCE_MS &&
                  one.value >= least &&
                  one.value <= greatest,
              ),
          )
          .map((one) => `${key} was ${one.value} at ${seconds(one.atMs)}, and is not in the plot of ${seconds(atMs)}`);
    return [...strange, ...left];
  });
}

/** True of what arrived minutes before a life was cut short: a plot of a later one may be without it. */
function mayBeUnwritten({ lives }: World, { toldAtMs = 0 }: Read, plotAtMs: number): boolean {
  return lives.ends.some(
    (endMs) =>
      toldAtMs <= endMs && endMs <= Math.min(toldAtMs + RECORD_AGE_MS, plotAtMs) && !lives.stops.includes(endMs),
  );
}

/** What neither a file nor the outbox has any more cannot be shown. */
function mayBeMissing({ disk, fills, identity, site }: World): boolean {
  return disk.wasFaulty || fills.length > 0 || identity.leftBehind.length > 0 || site.config.outbox.maxBytes < 2e6;
}

function readOf({ durable, identity }: World, key: string): Read[] {
  const told = durable
    .filter(({ entry }) => entry.key === key && entry.device === 'self')
    .map(({ entry, takenAtMs, toldAtMs }) => ({ atMs: takenAtMs, value: plottedNumber(entry.value), toldAtMs }));
  const arrived = identity
    .points(key)
    .map(({ ts, value }) => ({ atMs: ts - WORLD_BEGINS_MS, value: plottedNumber(value) }));
  return [...told, ...arrived].flatMap((one) => (one.value === undefined ? [] : [{ ...one, value: one.value }]));
}
