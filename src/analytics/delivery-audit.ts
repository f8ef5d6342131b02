/**
 * Proof of delivery: what the ledger says was acknowledged against what a report says is there, per key and hour.
 *
 *   ledger: count, sum, first, last of each (key, hour) ─┐
 *                                                        ├─→ sent, found, missing, different
 *   report rows → the same four, in memory per hour ─────┘
 */
import { type JsonObject, type JsonValue, jsonEqual, parseJson } from '../host/json.ts';
import type { LedgerCell, LedgerPoint } from '../outbox/delivery-ledger.ts';
import { type ReportColumns, timeOf } from './report-columns.ts';

export interface AuditLine {
  readonly key: string;
  /** UTC epoch ms at which the hour begins. */
  readonly hourMs: number;
  readonly sent: number;
  readonly found: number;
  /** Fewer than were sent. */
  readonly missing: number;
  /** What does not agree although it is there, in words; empty when all of it does. */
  readonly different: readonly string[];
}

export interface AuditSettings {
  readonly columns: ReportColumns;
  /** Rows of other devices are passed over; absent: every row counts. */
  readonly deviceName?: string;
}

const HOUR_MS = 3_600_000;
/** Sums of the same numbers differ by the order in which they are added. */
const SUM_TOLERANCE = 1e-9;

interface FoundCell {
  readonly sent: LedgerCell;
  count: number;
  sum: number;
  /** Sum of absolute values: the scale of the rounding error. */
  scale: number;
  first?: LedgerPoint;
  last?: LedgerPoint;
}

export class DeliveryAudit {
  readonly #settings: AuditSettings;
  readonly #cells = new Map<string, Map<number, FoundCell>>();

  constructor(sent: readonly LedgerCell[], settings: AuditSettings) {
    this.#settings = settings;
    for (const cell of sent) {
      if (!settings.columns.keys.has(cell.key)) continue;
      const hours = this.#cells.get(cell.key) ?? new Map<number, FoundCell>();
      hours.set(cell.hourMs, { sent: cell, count: 0, sum: 0, scale: 0 });
      this.#cells.set(cell.key, hours);
    }
  }

  take(rows: readonly JsonObject[]): void {
    const { columns, deviceName } = this.#settings;
    for (const row of rows) {
      if (deviceName !== undefined && columns.device !== undefined && row[columns.device] !== deviceName) continue;
      const ts = timeOf(row[columns.time]);
      if (ts === undefined) continue;
      const hourMs = Math.floor(ts / HOUR_MS) * HOUR_MS;
      for (const [key, label] of columns.keys) {
        const value = row[label];
        if (value === undefined || value === null || value === '') continue;
        const cell = this.#cells.get(key)?.get(hourMs);
        // What came after the ledger was read is nobody's fault.
        if (cell !== undefined && ts <= cell.sent.last[0]) add(cell, ts, value);
      }
    }
  }

  /** Every key and hour in which something was sent, by key and time. */
  lines(): readonly AuditLine[] {
    const lines = [...this.#cells].flatMap(([key, hours]) => [...hours.values()].map((cell) => lineOf(key, cell)));
    return lines.sort((a, b) => (a.key === b.key ? a.hourMs - b.hourMs : a.key < b.key ? -1 : 1));
  }
}

/** Whether a line is a fault. */
export function isFaulty(line: AuditLine): boolean {
  return line.missing > 0 || line.different.length > 0;
}

function add(cell: FoundCell, ts: number, value: JsonValue): void {
  cell.count += 1;
  const number = typeof cell.sent.first[1] === 'number' || typeof cell.sent.last[1] === 'number' ? numberOf(value) : value;
  if (typeof number === 'number') {
    cell.sum += number;
    cell.scale += Math.abs(number);
  }
  if (cell.first === undefined || ts < cell.first[0]) cell.first = [ts, value];
  if (cell.last === undefined || ts >= cell.last[0]) cell.last = [ts, value];
}

function lineOf(key: string, cell: FoundCell): AuditLine {
  const { sent, count } = cell;
  const missing = Math.max(0, sent.count - count);
  // A hole explains every other difference, but not what is wrong at the ends that are there.
  const different = count === 0 ? [] : differences(cell, missing > 0);
  return { key, hourMs: sent.hourMs, sent: sent.count, found: count, missing, different };
}

function differences({ sent, count, sum, scale, first, last }: FoundCell, hasHole: boolean): string[] {
  const found: string[] = [];
  if (count > sent.count) found.push(`${count - sent.count} more than were sent`);
  const tolerance = SUM_TOLERANCE * Math.max(scale, Math.abs(sent.sum), Number.MIN_VALUE);
  if (!hasHole && count === sent.count && Math.abs(sum - sent.sum) > tolerance)
    found.push(`sum ${rounded(sum)}, sent ${rounded(sent.sum)}`);
  for (const [name, one, other] of [
    ['first', first, sent.first],
    ['last', last, sent.last],
  ] as const) {
    if (one === undefined || (hasHole && one[0] !== other[0])) continue;
    if (one[0] !== other[0]) found.push(`${name} at ${iso(one[0])}, sent at ${iso(other[0])}`);
    else if (!sameValue(one[1], other[1])) found.push(`${name} is ${shown(one[1])}, sent ${shown(other[1])}`);
  }
  return found;
}

/** A cell may hold anything as text: numbers, booleans, whole JSON values. */
function sameValue(found: JsonValue, sent: JsonValue): boolean {
  if (jsonEqual(found, sent)) return true;
  if (typeof found !== 'string' || typeof sent === 'string') return false;
  try {
    return jsonEqual(parseJson(found), sent);
  } catch {
    return false;
  }
}

function numberOf(value: JsonValue): JsonValue {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
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
