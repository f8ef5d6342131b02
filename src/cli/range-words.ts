/** The words of a time range, looked at when they are typed; commands make times of them, by the clock that the agent goes by. */

import { duration, taking } from './command.ts';
import { usageError } from './exit-code.ts';
import { parseInstant, type RangeWords } from './report-range.ts';

/** A time, as it was typed. */
export const instant = taking(
  'write 2026-05-31T12:00:00Z, milliseconds since 1970, or a duration ago such as 24h',
  (text) => {
    parseInstant(text, 0);
    return text;
  },
);

const length = duration('a duration such as 30m, 24h or 7d', 1);

/** A duration up to now, as it was typed. */
export function lengthWords(text: string): string {
  length(text);
  return text;
}

/** Refuses what is two ranges, before an agent is asked for its clock. */
export function checkRange({ from, to, last }: RangeWords): void {
  if (last !== undefined && (from !== undefined || to !== undefined))
    throw usageError('--last stands alone: it is a range up to now');
}
