/** Entries with wall times, as they leave the outbox: a column for each of their parts. */
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { EntryClass, TelemetryValue } from './telemetry-entry.ts';

/** An entry as the platform is to see it. */
export interface ResolvedEntry {
  readonly sequence: number;
  readonly device: string;
  readonly key: string;
  readonly value: TelemetryValue;
  /** UTC epoch ms; the same at every try. */
  readonly ts: number;
  readonly class: EntryClass;
}

/** `{"ts":1780000000000,"values":{}},`: once for each timestamp. */
const RECORD_BYTES = 34;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Entries side by side, a column for each of their parts: thousands of them go through a batch without an object for each. */
export class EntryColumns implements Iterable<ResolvedEntry> {
  readonly sequences: readonly number[];
  readonly devices: readonly string[];
  readonly keys: readonly string[];
  readonly values: readonly TelemetryValue[];
  readonly ts: readonly number[];
  readonly classes: readonly EntryClass[];

  constructor(columns: Pick<EntryColumns, 'sequences' | 'devices' | 'keys' | 'values' | 'ts' | 'classes'>) {
    this.sequences = columns.sequences;
    this.devices = columns.devices;
    this.keys = columns.keys;
    this.values = columns.values;
    this.ts = columns.ts;
    this.classes = columns.classes;
  }

  static of(entries: readonly ResolvedEntry[]): EntryColumns {
    return new EntryColumns({
      sequences: entries.map(({ sequence }) => sequence),
      devices: entries.map(({ device }) => device),
      keys: entries.map(({ key }) => key),
      values: entries.map(({ value }) => value),
      ts: entries.map(({ ts }) => ts),
      classes: entries.map((entry) => entry.class),
    });
  }

  static joined(parts: readonly EntryColumns[]): EntryColumns {
    const [only, ...others] = parts;
    if (only !== undefined && others.length === 0) return only;
    return columnsOf(parts, <T>(columns: readonly (readonly T[])[]) => ([] as T[]).concat(...columns));
  }

  get length(): number {
    return this.keys.length;
  }

  /** Rows `[from, to)`. */
  part(from: number, to: number): EntryColumns {
    return columnsOf([this], ([column = []]) => column.slice(from, to));
  }

  /** The rows for which the answer is true. */
  where(isWanted: (row: number) => boolean): EntryColumns {
    return columnsOf([this], ([column = []]) => column.filter((_value, row) => isWanted(row)));
  }

  /** The rows of each device, in their order. */
  byDevice(): ReadonlyMap<string, EntryColumns> {
    const rows = new Map<string, number[]>();
    for (let row = 0; row < this.length; row += 1) getOrInsert(rows, this.devices[row] as string, () => []).push(row);
    const columns = (own: readonly number[]): EntryColumns =>
      columnsOf([this], ([column = []]) => own.map((row) => column[row] as never));
    return new Map([...rows].map(([device, own]) => [device, rows.size === 1 ? this : columns(own)]));
  }

  /** Roughly what they take as JSON: `"key":value,` each. */
  jsonBytes(): number {
    const { keys, values, ts } = this;
    let bytes = 0;
    for (let row = 0; row < keys.length; row += 1) {
      bytes += textBytes(keys[row] as string) + 2 + valueBytes(values[row] as TelemetryValue);
      if (row === 0 || ts[row] !== ts[row - 1]) bytes += RECORD_BYTES;
    }
    return bytes;
  }

  at(row: number): ResolvedEntry | undefined {
    if (row < 0 || row >= this.length) return undefined;
    return {
      sequence: this.sequences[row] as number,
      device: this.devices[row] as string,
      key: this.keys[row] as string,
      value: this.values[row] as TelemetryValue,
      ts: this.ts[row] as number,
      class: this.classes[row] as EntryClass,
    };
  }

  /** True when the outbox itself added this row, to mark the time of the row before it as a guess. */
  isMark(row: number): boolean {
    return row > 0 && row < this.length && this.sequences[row] === this.sequences[row - 1];
  }

  *[Symbol.iterator](): Generator<ResolvedEntry, undefined> {
    for (let row = 0; row < this.length; row += 1) yield this.at(row) as ResolvedEntry;
    return undefined;
  }
}

/** The columns of some parts, each kind of them made into one. */
function columnsOf(
  parts: readonly EntryColumns[],
  become: <T>(columns: readonly (readonly T[])[]) => T[],
): EntryColumns {
  return new EntryColumns({
    sequences: become(parts.map(({ sequences }) => sequences)),
    devices: become(parts.map(({ devices }) => devices)),
    keys: become(parts.map(({ keys }) => keys)),
    values: become(parts.map(({ values }) => values)),
    ts: become(parts.map(({ ts }) => ts)),
    classes: become(parts.map(({ classes }) => classes)),
  });
}

/** With its quotes, in UTF-8: a text of 60,000 characters may be 180,000 bytes. */
function textBytes(text: string): number {
  let bytes = 2;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) bytes += code < 0x20 ? 6 : code === QUOTE || code === BACKSLASH ? 2 : 1;
    else if (code < 0x800 || (code & 0xf800) === 0xd800) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}

function valueBytes(value: TelemetryValue): number {
  if (typeof value === 'number') return Math.abs(value) < 1e6 && Math.floor(value) === value ? 6 : 10;
  if (typeof value === 'string') return textBytes(value);
  if (typeof value === 'bigint') return 20;
  if (typeof value === 'boolean') return 5;
  if (value === null) return 4;
  let bytes = 2;
  // An entry that was never written may have members that JSON leaves out.
  for (const [key, part] of Object.entries(value))
    if (part !== undefined) bytes += textBytes(key) + 2 + valueBytes(part as TelemetryValue);
  return bytes;
}
