/** Values as a plot has them. */
import type { JsonValue } from './json.ts';

/** Returns the number to plot: numbers, longs, and switches as 0 and 1; undefined for what has no place on an axis. */
export function plottedNumber(value: JsonValue): number | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
