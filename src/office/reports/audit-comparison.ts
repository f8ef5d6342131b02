/**
 * Proof of delivery: what the ledger says was acknowledged against what a report says is there, per key and hour.
 *
 *   ledger: count, sum, first, last of each (key, hour) ─┐
 *   entries still kept: a digest of them ────────────────┼─→ sent, found, missing, different
 *   report rows → the same five, in memory per hour ─────┘
 */

import { AnalyticsError } from '../../errors/analytics-error.ts';
import { addToDigest, canonical, hourOf, type SentCell } from '../../telemetry/entry-digest.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { JsonObject, JsonValue } from '../../values/json.ts';
import { type ReportColumns, shows, timeOf, type ValueColumns } from './report-columns.ts';

export interface AuditLine {
  readonly key: string;
  /** UTC epoch ms at which the hour begins. */
  readonly hourMs: number;
  readonly sent: number;
  readonly found: number;
  /** Fewer than were sent. */
  readonly missing: number;
  /** Differences of entries that are there, in words; empty when all agree. */
  readonly different: readonly string[];
}

export interface AuditSettings {
  readonly columns: ReportColumns;
  /** Rows of other devices are passed over; absent: the view must be of one. */
  readonly deviceName?: string;
}

/** Sums of the same numbers differ by the order in which they are added. */
const SUM_TOLERANCE = 1e-9;
/** Each number may have been rounded to sixteen decimals on its way. */
const ROUNDED_BY = 1e-16;

interface FoundCell {
  readonly sent: SentCell;
  count: number;
  sum: number;
  /** Sum of absolute values: the scale of the rounding error. */
  scale: number;
  digest: number;
  /** In a report by the hour, the end points' times and maybe values are not known. */
  first?: FoundPoint;
  last?: FoundPoint;
}

interface FoundPoint {
  readonly ts?: number;
  readonly value: JsonValue;
}

export class AuditComparison {
  readonly #settings: AuditSettings;
  readonly #cells = new Map<string, Map<number, FoundCell>>();
  #device: JsonValue | undefined;

  constructor(sent: readonly SentCell[], settings: AuditSettings) {
    this.#settings = settings;
    for (const cell of sent) {
      if (!shows(settings.columns, cell.key)) continue;
      const hours = getOrInsert(this.#cells, cell.key, () => new Map());
      hours.set(cell.hourMs, { sent: cell, count: 0, sum: 0, scale: 0, digest: 0 });
    }
  }

  /** @throws AnalyticsError `analytics/settings` (stop) when rows of several devices come and none was named. */
  compareRows(rows: readonly JsonObject[]): void {
    const { values } = this.#settings.columns;
    for (const row of rows) {
      const ts = timeOf(row[this.#settings.columns.time]);
      if (ts === undefined || !this.#isOurs(row)) continue;
      if (values.form === 'column-per-key')
        for (const [key, label] of values.labels) this.#takeValue(key, ts, filled(row[label]));
      else if (values.form === 'row-per-key') this.#takeValue(String(row[values.key]), ts, row[values.value]);
      else this.#takeHour(String(row[values.key]), ts, row, values);
    }
  }

  #isOurs(row: JsonObject): boolean {
    const { columns, deviceName } = this.#settings;
    if (columns.device === undefined) return true;
    const device = row[columns.device];
    if (deviceName !== undefined) return device === deviceName;
    this.#device ??= device;
    if (device === this.#device) return true;
    throw new AnalyticsError(
      'settings',
      `the view shows several devices (${shown(this.#device ?? null)}, ${shown(device ?? null)}): name ours with --device`,
    );
  }

  #takeValue(key: string, ts: number, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    const cell = this.#cells.get(key)?.get(hourOf(ts));
    // Entries that came after the ledger was read are nobody's fault.
    if (cell === undefined || ts > cell.sent.last[0]) return;
    cell.count += 1;
    cell.digest = addToDigest(cell.digest, ts, value);
    addNumber(cell, value);
    if (cell.first?.ts === undefined || ts < cell.first.ts) cell.first = { ts, value };
    if (cell.last?.ts === undefined || ts >= cell.last.ts) cell.last = { ts, value };
  }

  #takeHour(key: string, ts: number, row: JsonObject, columns: Extract<ValueColumns, { form: 'hour-per-key' }>): void {
    const cell = this.#cells.get(key)?.get(hourOf(ts));
    if (cell === undefined) return;
    cell.count = Number(row[columns.count]);
    const sum = columns.sum === undefined ? undefined : numberIn(row[columns.sum] ?? null);
    cell.sum = sum ?? cell.sent.sum;
    const [first, last] = [columns.first, columns.last].map((label) => (label === undefined ? undefined : row[label]));
    if (first !== undefined && first !== null) cell.first = { value: first };
    if (last !== undefined && last !== null) cell.last = { value: last };
    const ends = [cell.sent.first[1], cell.sent.last[1]].map((value) =>
      typeof value === 'number' ? Math.abs(value) : 0,
    );
    cell.scale = Math.max(...ends) * cell.count;
  }

  /** Every key and hour in which something was sent, by key and time. */
  lines(): readonly AuditLine[] {
    const lines = [...this.#cells].flatMap(([key, hours]) => [...hours.values()].map((cell) => lineOf(key, cell)));
    return lines.sort((a, b) => (a.key === b.key ? a.hourMs - b.hourMs : a.key < b.key ? -1 : 1));
  }
}

/** True when entries are missing or differ. */
export function isFaulty(line: AuditLine): boolean {
  return line.missing > 0 || line.different.length > 0;
}

/** A table with a column for each key has a cell also where nothing was measured. */
function filled(cell: JsonValue | undefined): JsonValue | undefined {
  return cell === '' ? undefined : cell;
}

function addNumber(cell: FoundCell, value: JsonValue): void {
  const number = numberIn(value);
  if (number === undefined) return;
  cell.sum += number;
  cell.scale += Math.abs(number);
}

/** The ledger's sum is of doubles alone; among texts and longs, of which the platform makes numbers too, it says nothing. */
function hasSum({ first, last }: SentCell): boolean {
  return typeof first[1] === 'number' && typeof last[1] === 'number';
}

function lineOf(key: string, cell: FoundCell): AuditLine {
  const { sent, count } = cell;
  const missing = Math.max(0, sent.count - count);
  // Only rows of single values have end points with times. Where the digest can tell, nothing else is asked.
  const hasDigest = sent.digest !== undefined && cell.first?.ts !== undefined && count === sent.count;
  const isSame = hasDigest && cell.digest === sent.digest;
  // A hole explains every other difference, but not what is wrong at the ends that are there; so does what arrived since the ledger was read.
  const different =
    count === 0 || isSame ? [] : differences(cell, missing > 0 || (sent.waiting !== undefined && count > sent.count));
  if (hasDigest && !isSame && different.length === 0) different.push('a value or a time is not what the gateway keeps');
  return { key, hourMs: sent.hourMs, sent: sent.count, found: count, missing, different };
}

function differences({ sent, count, sum, scale, first, last }: FoundCell, hasHole: boolean): string[] {
  const found: string[] = [];
  const more = count - sent.count - (sent.waiting ?? 0);
  if (more > 0) found.push(`${more} more than were sent`);
  const tolerance = SUM_TOLERANCE * Math.max(scale, Math.abs(sent.sum), Number.MIN_VALUE) + ROUNDED_BY * count;
  if (!hasHole && hasSum(sent) && count === sent.count && Math.abs(sum - sent.sum) > tolerance)
    found.push(`sum ${rounded(sum)}, sent ${rounded(sent.sum)}`);
  for (const [name, one, other] of [
    ['first', first, sent.first],
    ['last', last, sent.last],
  ] as const) {
    if (one === undefined || (hasHole && one.ts !== other[0])) continue;
    if (one.ts !== undefined && one.ts !== other[0]) found.push(`${name} at ${iso(one.ts)}, sent at ${iso(other[0])}`);
    else if (other[1] !== undefined && canonical(one.value) !== canonical(other[1]))
      found.push(`${name} is ${shown(one.value)}, sent ${shown(other[1])}`);
  }
  return found;
}

/** As a number, also where a cell shows it as text or the report as a long. */
function numberIn(value: JsonValue): number | undefined {
  const isNumeric =
    typeof value === 'number' || typeof value === 'bigint' || (typeof value === 'string' && value.trim() !== '');
  const number = isNumeric ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(12)));
}

function shown(value: JsonValue): string {
  return typeof value === 'object' || typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function iso(ts: number): string {
  return new Date(ts).toISOString();
}
