/**
 * The last hours of some keys, from what the outbox still holds, thinned for a plot: each key's span is cut into equal parts, of which the least, the
 * greatest and the last value stay, so that no peak is lost and none seems longer than it was. Memory depends on the number of parts, never on that of the entries.
 */
import type { JsonValue } from '../values/json.ts';
import { plottedNumber } from '../values/plotted-number.ts';

export interface SeriesQuery {
  /** Slot of the attached device whose keys they are; the gateway's own without it. */
  readonly device?: string;
  readonly keys: readonly string[];
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
  /** About how many points each key gets. */
  readonly points: number;
}

interface Point {
  readonly ts: number;
  readonly value: number;
}

export interface TimedValue {
  readonly key: string;
  readonly ts: number;
  readonly value: JsonValue;
}

type Column = readonly number[];

/** Times and values. */
export type Plain = readonly [times: Column, values: Column];

/** Middles of parts, and the least and the greatest value in each. */
export type Banded = readonly [times: Column, least: Column, greatest: Column];

/** A plot per key. */
export type Series = Readonly<Record<string, Plain | Banded>>;

interface Part {
  least: Point;
  greatest: Point;
  /** Says what is so until the next part has one. */
  last: Point;
}

const MAX_KEYS = 64;
/** Points of all keys together: 20,000 are 400 kB of JSON. */
const MAX_POINTS = 20_000;
const USUAL_POINTS = 300;
const POINTS_OF_A_PART = 3;
/** As long as the name of a slot may be. */
const MAX_SLOT_LENGTH = 64;
const MAX_SPAN_MS = 31 * 86_400_000;

/** `key` (repeated), `device` (a slot), `from` and `to` (UTC epoch ms), `points`; or what is wrong with them, in words. */
export function readSeriesQuery(query: URLSearchParams, nowMs: number): SeriesQuery | string {
  const keys = [...new Set(query.getAll('key'))];
  const number = (name: string, usual: number): number => Number(query.get(name) ?? usual);
  const toMs = number('to', nowMs + 1);
  const fromMs = number('from', toMs - 3_600_000);
  const points = number('points', USUAL_POINTS);
  const device = query.get('device') ?? undefined;
  if (device !== undefined && device.length > MAX_SLOT_LENGTH) return 'no device is called so';
  if (keys.length === 0 || keys.length > MAX_KEYS) return `1 to ${MAX_KEYS} keys are needed`;
  if (!(fromMs < toMs) || toMs - fromMs > MAX_SPAN_MS) return 'from lies before to, by 31 days at most';
  if (!(points >= POINTS_OF_A_PART)) return `points is a number from ${POINTS_OF_A_PART}`;
  return { device, keys, fromMs, toMs, points: Math.min(points, MAX_POINTS / keys.length) };
}

export async function thinSeries(
  entries: AsyncIterable<TimedValue>,
  query: SeriesQuery,
): Promise<Readonly<Record<string, Plain>>> {
  const { keys, fromMs, toMs, points } = query;
  const partMs = Math.max(1, (toMs - fromMs) / Math.max(1, Math.floor(points / POINTS_OF_A_PART)));
  const parts = new Map(keys.map((key) => [key, new Map<number, Part>()]));
  for await (const { key, ts, value } of entries) {
    const number = plottedNumber(value);
    if (number === undefined || ts < fromMs || ts >= toMs) continue;
    const ofKey = parts.get(key);
    const at = Math.floor((ts - fromMs) / partMs);
    const point = { ts, value: number };
    const part = ofKey?.get(at);
    if (part === undefined) {
      ofKey?.set(at, { least: point, greatest: point, last: point });
      continue;
    }
    if (number < part.least.value) part.least = point;
    else if (number > part.greatest.value) part.greatest = point;
    if (ts >= part.last.ts) part.last = point;
  }
  return Object.fromEntries([...parts].map(([key, ofKey]) => [key, columns([...ofKey.values()])]));
}

function columns(parts: readonly Part[]): Plain {
  // Backlog that was appended late is not in order.
  const points = parts
    .flatMap(({ least, greatest, last }) => [...new Set([least, greatest, last])])
    .sort((a, b) => a.ts - b.ts)
    .filter((point, index, all) => point.ts !== all[index - 1]?.ts);
  return [points.map(({ ts }) => ts), points.map(({ value }) => value)];
}
