/** Points of an interval made into one: MIN, MAX, AVG, SUM, COUNT, as the platform's readings and its reports need it. */
import { numberIn, type StoredValue } from './stored-value.ts';
import type { Point } from './telemetry-store.ts';

export const AGGREGATIONS = ['NONE', 'MIN', 'MAX', 'AVG', 'SUM', 'COUNT'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

export interface AggregationRange {
  readonly startTs: number;
  readonly endTs: number;
  readonly intervalMs: number;
}

/** One point per interval that holds any, at the interval's middle. */
export function aggregate(points: Iterable<Point>, aggregation: Exclude<Aggregation, 'NONE'>, range: AggregationRange): readonly Point[] {
  const { startTs, endTs, intervalMs } = range;
  return [...Map.groupBy(points, ({ ts }) => Math.floor((ts - startTs) / intervalMs))].flatMap(([interval, inside]) => {
    const from = startTs + interval * intervalMs;
    const until = Math.min(from + intervalMs, endTs);
    const value = summarise(inside, aggregation);
    return value === undefined ? [] : [{ ts: from + Math.floor((until - from) / 2), value }];
  });
}

/** One value out of many; undefined when none of them has a part in it. */
export function summarise(points: readonly Point[], aggregation: Exclude<Aggregation, 'NONE'>): StoredValue | undefined {
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
