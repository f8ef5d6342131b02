/**
 * Plots of longer than the outbox is quickly read for: from the coarser record, whose parts are merged to about the points that were asked for. A span
 * of some hours that the outbox may still hold is read there, too: the finer of the two is the answer.
 */
import type { BandQuery, KeyBand } from './bands.ts';
import { type Banded, type Plain, type Series, type SeriesQuery, type TimedValue, thinSeries } from './plot-series.ts';

export interface SeriesSources {
  readonly nowMs: number;
  /** How long the outbox keeps what was delivered. */
  readonly retainMs: number;
  /** Ids of the device that is asked for. */
  readonly devices: readonly string[];
  readonly entries: (query: SeriesQuery) => AsyncIterable<TimedValue>;
  /** The coarser record; absent where none is kept. */
  readonly bands?: (query: BandQuery) => AsyncIterable<KeyBand>;
}

/** A span of the outbox that is read in no time. */
const QUICK_MS = 6 * 3_600_000;
/** As long as a part of the record. */
const PART_MS = 300_000;

export async function answerSeries(
  query: SeriesQuery,
  { nowMs, retainMs, devices, entries, bands }: SeriesSources,
): Promise<Series> {
  const { keys, fromMs, toMs } = query;
  if (bands === undefined) return thinSeries(entries(query), query);
  if (toMs - fromMs > QUICK_MS || fromMs < nowMs - Math.max(retainMs, QUICK_MS))
    return mergeBands(bands({ devices, keys, fromMs, toMs }), query);
  const plain = await thinSeries(entries(query), query);
  // A full outbox keeps less than its time.
  const late = keys.filter((key) => (plain[key]?.[0][0] ?? Number.POSITIVE_INFINITY) > fromMs + PART_MS);
  const banded =
    late.length === 0 ? {} : await mergeBands(bands({ devices, keys: late, fromMs, toMs }), { ...query, keys: late });
  return Object.fromEntries(keys.map((key) => [key, finer(plain[key], banded[key]) ?? [[], []]]));
}

export async function mergeBands(
  parts: AsyncIterable<KeyBand>,
  query: SeriesQuery,
): Promise<Readonly<Record<string, Banded>>> {
  const { keys, fromMs, toMs, points } = query;
  const stepMs = PART_MS * Math.max(1, Math.ceil((toMs - fromMs) / Math.max(1, Math.floor(points)) / PART_MS));
  const merged = new Map(keys.map((key) => [key, new Map<number, { least: number; greatest: number }>()]));
  for await (const { key, hourMs, at, least, greatest } of parts) {
    const startMs = hourMs + at * PART_MS;
    const ofKey = merged.get(key);
    if (startMs >= toMs || startMs + PART_MS <= fromMs || ofKey === undefined) continue;
    const step = Math.floor(startMs / stepMs);
    const known = ofKey.get(step);
    if (known === undefined) ofKey.set(step, { least, greatest });
    else {
      known.least = Math.min(known.least, least);
      known.greatest = Math.max(known.greatest, greatest);
    }
  }
  return Object.fromEntries([...merged].map(([key, ofKey]) => [key, columnsOf(ofKey, stepMs)]));
}

function columnsOf(
  steps: ReadonlyMap<number, { readonly least: number; readonly greatest: number }>,
  stepMs: number,
): Banded {
  const sorted = [...steps].sort(([a], [b]) => a - b);
  return [
    sorted.map(([step]) => (step + 0.5) * stepMs),
    sorted.map(([, { least }]) => least),
    sorted.map(([, { greatest }]) => greatest),
  ];
}

/** The outbox's own, unless it has lost the beginning. */
function finer(plain: Plain | undefined, banded: Banded | undefined): Plain | Banded | undefined {
  const [bandsFrom = Number.POSITIVE_INFINITY] = banded?.[0] ?? [];
  const [plainFrom = Number.POSITIVE_INFINITY] = plain?.[0] ?? [];
  return bandsFrom + PART_MS < plainFrom ? banded : plain;
}
