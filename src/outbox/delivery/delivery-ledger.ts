/**
 * Ledger of deliveries, per key and hour: count, sum, first, last. The audit compares it with what the platform has. Cells gather in memory
 * (and in the delivery state, so that a crash loses none) and are added to a log; a reader adds up the records of a cell.
 */

import { sealedObject } from '../../store/record-log.ts';
import { sealJson } from '../../store/sealed-json.ts';
import { type JsonValue, stringifyJson } from '../../values/json.ts';
import type { EntryColumns } from '../format/entry-columns.ts';
import type { TelemetryValue } from '../format/telemetry-entry.ts';

/** `[UTC epoch ms, value]`; without the value when that is long. */
export type LedgerPoint = readonly [ts: number, value?: TelemetryValue];

export interface LedgerCell {
  readonly device: string;
  readonly key: string;
  /** UTC epoch ms at which the hour begins. */
  readonly hourMs: number;
  count: number;
  /** Sum of the numbers among the values. */
  sum: number;
  first: LedgerPoint;
  last: LedgerPoint;
}

export const LEDGER_HOUR_MS = 3_600_000;
/** Longer text is left out: a cell has two values, and the files that hold cells are read whole. */
const MAX_VALUE_LENGTH = 200;

/** Adds delivered entries up; cells are looked up by key, and mostly the one of this hour. */
export class LedgerCells {
  readonly #cells = new Map<string, LedgerCell>();
  /** The cell each key used last. */
  readonly #recent = new Map<string, LedgerCell>();

  constructor(cells: Iterable<LedgerCell> = []) {
    for (const cell of cells) this.merge(cell);
  }

  get size(): number {
    return this.#cells.size;
  }

  add({ devices, keys, ts: instants, values }: EntryColumns, row: number): void {
    const device = devices[row] as string;
    const key = keys[row] as string;
    const ts = instants[row] as number;
    const value = values[row] as TelemetryValue;
    const hourMs = Math.floor(ts / LEDGER_HOUR_MS) * LEDGER_HOUR_MS;
    let cell = this.#recent.get(key);
    if (cell === undefined || cell.hourMs !== hourMs || cell.device !== device) {
      const name = nameOf(device, key, hourMs);
      cell = this.#cells.get(name);
      if (cell === undefined) {
        cell = { device, key, hourMs, count: 0, sum: 0, first: pointOf(ts, value), last: pointOf(ts, value) };
        this.#cells.set(name, cell);
      }
      this.#recent.set(key, cell);
    }
    cell.count += 1;
    cell.sum += numberOf(value);
    if (ts < cell.first[0]) cell.first = pointOf(ts, value);
    if (ts >= cell.last[0]) cell.last = pointOf(ts, value);
  }

  /** Takes an entry out of count and sum. First and last stay, because the entry is delivered again. */
  take(entry: {
    readonly device: string;
    readonly key: string;
    readonly ts: number;
    readonly value: TelemetryValue;
  }): void {
    const { device, key, ts, value } = entry;
    const hourMs = Math.floor(ts / LEDGER_HOUR_MS) * LEDGER_HOUR_MS;
    this.merge({
      device,
      key,
      hourMs,
      count: -1,
      sum: -numberOf(value),
      first: pointOf(ts, value),
      last: pointOf(ts, value),
    });
  }

  merge(other: LedgerCell): void {
    const name = nameOf(other.device, other.key, other.hourMs);
    const cell = this.#cells.get(name);
    if (cell === undefined) {
      this.#cells.set(name, { ...other });
      return;
    }
    cell.count += other.count;
    cell.sum += other.sum;
    if (other.first[0] < cell.first[0]) cell.first = other.first;
    if (other.last[0] >= cell.last[0]) cell.last = other.last;
  }

  list(): readonly LedgerCell[] {
    return [...this.#cells.values()];
  }

  /** Keeps no more than so many; those of the oldest hours go. Returns how many went. */
  forgetOldest(most: number): number {
    const gone = [...this.#cells].sort(([, a], [, b]) => b.hourMs - a.hourMs).slice(most);
    for (const [name] of gone) this.#cells.delete(name);
    this.#recent.clear();
    return gone.length;
  }

  clear(): void {
    this.#cells.clear();
    this.#recent.clear();
  }
}

/** A cell as it was flushed; the number tells the next start whether the delivery state knows of it. */
export interface FlushedCell {
  readonly flush: number;
  readonly cell: LedgerCell;
}

export function ledgerLine({ flush, cell }: FlushedCell): string {
  return sealJson({ flush, ...cell });
}

/** A line's cell; undefined for a damaged or foreign line. */
export function parseLedgerLine(line: string): FlushedCell | undefined {
  const { flush, ...members } = sealedObject(line) ?? {};
  // Values that a foreign line has in the place of these are looked at below.
  const cell = members as unknown as LedgerCell;
  const isWhole =
    typeof cell.key === 'string' &&
    typeof cell.hourMs === 'number' &&
    typeof cell.count === 'number' &&
    Array.isArray(cell.last);
  return isWhole && typeof flush === 'number' ? { flush, cell } : undefined;
}

function pointOf(ts: number, value: TelemetryValue): LedgerPoint {
  if (typeof value === 'string') return value.length > MAX_VALUE_LENGTH ? [ts] : [ts, value];
  if (typeof value !== 'object' || value === null) return [ts, value];
  return stringifyJson(value as JsonValue).length > MAX_VALUE_LENGTH ? [ts] : [ts, value];
}

/** Returns what a value adds to a sum; 0 when it is no number, or none that can be added up. */
function numberOf(value: TelemetryValue): number {
  return Number.isFinite(value) ? (value as number) : 0;
}

function nameOf(device: string, key: string, hourMs: number): string {
  return `${hourMs}\0${device}\0${key}`;
}
