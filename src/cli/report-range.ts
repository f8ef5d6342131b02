/** The time range of a report, as people write it: ISO 8601, epoch ms, or a duration back from now. */
import { parseDuration } from '../config/fields/quantity.ts';
import { AnalyticsError } from '../errors/analytics-error.ts';

export interface RangeWords {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** A duration up to now; excludes the others. */
  readonly last?: string | undefined;
}

export interface ReportRange {
  /** UTC epoch ms; absent: the view's own. */
  readonly rangeStartTs?: number;
  readonly rangeEndTs?: number;
}

/** Epoch ms have at least this many digits since 1973; fewer are a slip (seconds). */
const MIN_MS_DIGITS = 12;
const ISO = /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;

/** @throws AnalyticsError `analytics/settings` (stop) that says what can be written. */
export function parseRange(words: RangeWords, nowMs: number): ReportRange {
  if (words.last !== undefined) {
    if (words.from !== undefined || words.to !== undefined) throw fault('--last stands alone: it is a range up to now');
    const lastMs = parseDuration(words.last);
    if (lastMs === undefined || lastMs === 0) throw fault(`--last ${words.last} is no duration such as 30m, 24h or 7d`);
    return { rangeStartTs: Math.round(nowMs - lastMs), rangeEndTs: nowMs };
  }
  const rangeStartTs = words.from === undefined ? undefined : parseInstant(words.from, nowMs);
  const rangeEndTs = words.to === undefined ? undefined : parseInstant(words.to, nowMs);
  if (rangeStartTs !== undefined && rangeEndTs !== undefined && rangeStartTs >= rangeEndTs)
    throw fault('the range ends before it begins');
  return { rangeStartTs, rangeEndTs };
}

/** A time without zone is this machine's, a date alone is its beginning in UTC, as ISO 8601 and JavaScript have it. */
export function parseInstant(text: string, nowMs: number): number {
  if (text === 'now') return nowMs;
  if (/^\d+$/.test(text)) {
    if (text.length < MIN_MS_DIGITS)
      throw fault(`${text} is too few digits for milliseconds since 1970; are these seconds?`);
    return Number(text);
  }
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return Math.round(nowMs - agoMs);
  const ms = ISO.test(text) ? Date.parse(text.replace(' ', 'T')) : Number.NaN;
  if (Number.isNaN(ms))
    throw fault(
      `${text} is no time: write 2026-05-31T12:00:00Z, milliseconds since 1970, or a duration ago such as 24h`,
    );
  return ms;
}

/** `name=a,b` into the filters of a report; a name given twice adds up. @throws AnalyticsError `analytics/settings` (stop). */
export function parseFilters(words: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const filters = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw fault(`--filter ${word} is not name=value[,value…]`);
    const name = word.slice(0, at);
    filters.set(name, [...(filters.get(name) ?? []), ...word.slice(at + 1).split(',')]);
  }
  return Object.fromEntries(filters);
}

function fault(message: string): AnalyticsError {
  return new AnalyticsError('settings', message);
}
