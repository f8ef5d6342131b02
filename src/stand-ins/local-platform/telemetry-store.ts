/**
 * Time series by device and key. A second value of one timestamp replaces the first, as in the real database, which is what makes a
 * retried upload harmless. Bounded: past the maximum of points a key loses its oldest.
 */
import { getOrInsert } from '../../values/get-or-insert.ts';
import { numberIn, type StoredValue } from './stored-value.ts';

export interface Point {
  readonly ts: number;
  readonly value: StoredValue;
}

export interface PointRange {
  /** Inclusive. */
  readonly startTs: number;
  /** Exclusive. */
  readonly endTs: number;
  readonly limit: number;
  readonly orderBy: 'ASC' | 'DESC';
}

/** Share of a full key that is dropped at once, so that not every further point sorts it again. */
const DROPPED_SHARE = 0.1;

export class TelemetryStore {
  readonly #maxPoints: number;
  readonly #devices = new Map<string, Map<string, Series>>();

  constructor(options: { readonly maxPointsPerKey: number }) {
    this.#maxPoints = options.maxPointsPerKey;
  }

  save(deviceId: string, ts: number, values: Readonly<Record<string, StoredValue>>): void {
    const keys = getOrInsert(this.#devices, deviceId, () => new Map());
    for (const [key, value] of Object.entries(values)) {
      const series = getOrInsert(keys, key, () => new Series());
      series.set(ts, value);
      if (series.size > this.#maxPoints) series.dropOldest(Math.max(1, Math.floor(this.#maxPoints * DROPPED_SHARE)));
    }
  }

  keys(deviceId: string): readonly string[] {
    return [...(this.#devices.get(deviceId)?.keys() ?? [])];
  }

  /** Empty for a key that was never saved. */
  series(deviceId: string, key: string): Series {
    return this.#devices.get(deviceId)?.get(key) ?? new Series();
  }

  /** Every point of a device by key, oldest first. */
  all(deviceId: string): ReadonlyMap<string, readonly Point[]> {
    return new Map(
      this.keys(deviceId).map((key) => [key, [...this.series(deviceId, key).scan(0, Number.MAX_SAFE_INTEGER)]]),
    );
  }

  forget(deviceId: string): void {
    this.#devices.delete(deviceId);
  }
}

/** Points by timestamp; the order is only made when someone reads, because backlog arrives in any order. */
class Series {
  readonly #points = new Map<number, StoredValue>();
  #sorted: Float64Array | undefined;
  #latestTs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#points.size;
  }

  set(ts: number, value: StoredValue): void {
    const before = this.#points.size;
    this.#points.set(ts, value);
    if (this.#points.size !== before) this.#sorted = undefined;
    if (ts > this.#latestTs) this.#latestTs = ts;
  }

  at(ts: number): StoredValue | undefined {
    return this.#points.get(ts);
  }

  latest(): Point | undefined {
    return this.#points.size === 0 ? undefined : this.#point(this.#latestTs);
  }

  read({ startTs, endTs, limit, orderBy }: PointRange): readonly Point[] {
    const order = this.#order();
    const from = lowerBound(order, startTs);
    const until = lowerBound(order, endTs);
    const count = Math.max(0, Math.min(limit, until - from));
    if (orderBy === 'ASC') return Array.from(order.subarray(from, from + count), (ts) => this.#point(ts));
    return Array.from(order.subarray(until - count, until).toReversed(), (ts) => this.#point(ts));
  }

  /** Every point of a range in ascending order, one at a time. */
  *scan(startTs: number, endTs: number): Generator<Point> {
    const order = this.#order();
    for (let at = lowerBound(order, startTs); at < order.length; at += 1) {
      const ts = order[at] as number;
      if (ts >= endTs) return;
      if (this.#points.has(ts)) yield this.#point(ts);
    }
  }

  /** Takes points out behind the platform's back; tests plant losses so. Answers how many went. */
  remove(startTs: number, endTs: number): number {
    const order = this.#order();
    const removed = order.subarray(lowerBound(order, startTs), lowerBound(order, endTs));
    for (const ts of removed) this.#points.delete(ts);
    this.#reorder();
    return removed.length;
  }

  dropOldest(count: number): void {
    for (const ts of this.#order().subarray(0, count)) this.#points.delete(ts);
    this.#reorder();
  }

  #point(ts: number): Point {
    return { ts, value: this.#points.get(ts) as StoredValue };
  }

  #order(): Float64Array {
    this.#sorted ??= Float64Array.from(this.#points.keys()).sort();
    return this.#sorted;
  }

  #reorder(): void {
    this.#sorted = undefined;
    this.#latestTs = this.#order().at(-1) ?? Number.NEGATIVE_INFINITY;
  }
}

/** Index of the first element that is not less than `ts`. */
function lowerBound(order: Float64Array, ts: number): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((order[middle] as number) < ts) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const AGGREGATIONS = ['NONE', 'MIN', 'MAX', 'AVG', 'SUM', 'COUNT'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

export interface AggregationRange {
  readonly startTs: number;
  readonly endTs: number;
  readonly intervalMs: number;
}

/** One point per interval that holds any, at the interval's middle. */
export function aggregate(
  points: Iterable<Point>,
  aggregation: Exclude<Aggregation, 'NONE'>,
  range: AggregationRange,
): readonly Point[] {
  const { startTs, endTs, intervalMs } = range;
  return [...Map.groupBy(points, ({ ts }) => Math.floor((ts - startTs) / intervalMs))].flatMap(([interval, inside]) => {
    const from = startTs + interval * intervalMs;
    const until = Math.min(from + intervalMs, endTs);
    const value = summarise(inside, aggregation);
    return value === undefined ? [] : [{ ts: from + Math.floor((until - from) / 2), value }];
  });
}

/** One value out of many; undefined when none of them has a part in it. */
export function summarise(
  points: readonly Point[],
  aggregation: Exclude<Aggregation, 'NONE'>,
): StoredValue | undefined {
  if (aggregation === 'COUNT') return points.length;
  const numbers = points.flatMap(({ value }) => numberIn(value) ?? []);
  if (numbers.length === 0) return undefined;
  switch (aggregation) {
    case 'MIN':
      return numbers.reduce((min, value) => (value < min ? value : min));
    case 'MAX':
      return numbers.reduce((max, value) => (value > max ? value : max));
    case 'SUM':
      return sum(numbers);
    case 'AVG':
      return Number(sum(numbers)) / numbers.length;
  }
}

/** Whole numbers exactly, anything else as doubles. */
function sum(numbers: readonly (number | bigint)[]): number | bigint {
  if (!numbers.every((value) => typeof value === 'bigint' || Number.isSafeInteger(value)))
    return numbers.reduce<number>((total, value) => total + Number(value), 0);
  const total = numbers.reduce<bigint>((part, value) => part + BigInt(value), 0n);
  return Number.isSafeInteger(Number(total)) ? Number(total) : total;
}
