/**
 * The inside of a block: entries as columns, one per key, so that what is alike lies together.
 *
 *   key table      count, then (device, key) each
 *   key column     which key each entry has, in the order of appending
 *   time columns   ms differences in that order; for entries that bring their own time, that time and the monotonic one
 *   sequences      only where thinning left gaps
 *   value columns  one per key, in the order of the table
 */
import type { EpochMs } from '../../host/clock.ts';
import type { JsonValue } from '../../values/json.ts';
import { SELF } from '../../values/self.ts';
import type { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { readColumn, writeColumn } from './value-column.ts';

/** Entries of one block, in the order of appending; all of one boot, one class, and all or none with a time of their own. */
export interface BlockEntries {
  readonly devices: readonly string[];
  readonly keys: readonly string[];
  readonly values: readonly JsonValue[];
  /** Whole ms since boot, already spaced so that no key has two in one ms. */
  readonly monotonicMs: readonly number[];
  /** Timestamps of entries that bring their own; absent otherwise. */
  readonly takenAtMs?: readonly EpochMs[];
  /** Absent when they follow each other without a gap from `firstSequence`. */
  readonly sequences?: readonly number[];
}

interface Column {
  readonly index: number;
  readonly device: string;
  readonly key: string;
  readonly values: JsonValue[];
}

/** Encodes blocks one after the other with buffers of its own. */
export class PayloadEncoder {
  readonly #order = new ByteWriter();
  readonly #out = new ByteWriter();

  /** The payload, valid until the next call. */
  encode(entries: BlockEntries): Buffer {
    const columns = this.#group(entries);
    const out = this.#out;
    out.clear();
    out.varint(columns.length);
    for (const column of columns) {
      // Most entries are of the gateway itself: it costs one byte.
      out.text(column.device === SELF ? '' : JSON.stringify(column.device));
      out.text(JSON.stringify(column.key));
    }
    out.append(this.#order.view());
    writeDifferences(out, entries.monotonicMs);
    if (entries.takenAtMs !== undefined) writeDifferences(out, entries.takenAtMs);
    if (entries.sequences !== undefined) writeDifferences(out, entries.sequences);
    for (const column of columns) writeColumn(out, column.values);
    return out.view();
  }

  #group({ devices, keys, values }: BlockEntries): Column[] {
    const byDevice = new Map<string, Map<string, Column>>();
    let own = new Map<string, Column>();
    let before: string | undefined;
    const columns: Column[] = [];
    const order = this.#order;
    order.clear();
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at] as string;
      const device = devices[at] as string;
      // Most follow one of the same device.
      if (device !== before) {
        own = byDevice.get(device) ?? new Map<string, Column>();
        byDevice.set(device, own);
        before = device;
      }
      let column = own.get(key);
      if (column === undefined) {
        column = { index: columns.length, device, key, values: [] };
        columns.push(column);
        own.set(key, column);
      }
      column.values.push(values[at] as JsonValue);
      order.varint(column.index);
    }
    return columns;
  }
}

/** @throws RangeError or AgentError when the bytes are no such payload. */
export function decodePayload(
  from: ByteReader,
  block: { readonly count: number; readonly ownTime: boolean; readonly gaps: boolean },
): BlockEntries {
  const { count } = block;
  const names = readNames(from);
  // Each entry takes a byte at least: a header that announces more must not make us ask for gigabytes.
  if (count > from.remaining) throw new RangeError(`a block of ${from.remaining} bytes cannot hold ${count} entries`);
  const { order, rows } = scratch(count);
  const ends = new Array<number>(names.length + 1).fill(0);
  for (let row = 0; row < count; row += 1) {
    const column = from.varint();
    order[row] = column;
    ends[column + 1] = (ends[column + 1] as number) + 1;
  }
  const monotonicMs = readDifferences(from, count);
  const takenAtMs = block.ownTime ? readDifferences(from, count) : undefined;
  const sequences = block.gaps ? readDifferences(from, count) : undefined;
  // The rows of each column, one column after the other; `ends` begins as where each starts.
  for (let column = 1; column < names.length; column += 1)
    ends[column] = (ends[column] as number) + (ends[column - 1] as number);
  const devices = new Array<string>(count);
  const keys = new Array<string>(count);
  const values = new Array<JsonValue>(count);
  for (let row = 0; row < count; row += 1) {
    const column = order[row] as number;
    const name = names[column] as Name;
    devices[row] = name.device;
    keys[row] = name.key;
    const place = ends[column] as number;
    rows[place] = row;
    ends[column] = place + 1;
  }
  for (let column = 0, start = 0; column < names.length; column += 1) {
    const end = ends[column] as number;
    readColumn(from, values, rows, start, end);
    start = end;
  }
  return {
    devices,
    keys,
    values,
    monotonicMs,
    ...(takenAtMs === undefined ? {} : { takenAtMs }),
    ...(sequences === undefined ? {} : { sequences }),
  };
}

/** Used again by every block: unpacking is synchronous. */
let orders = new Uint32Array(0);
let places = new Uint32Array(0);

function scratch(count: number): { readonly order: Uint32Array; readonly rows: Uint32Array } {
  if (orders.length < count) {
    orders = new Uint32Array(count);
    places = new Uint32Array(count);
  }
  return { order: orders, rows: places };
}

/** Blocks that follow each other mostly have the same keys. */
let lastNames: { readonly bytes: Buffer; readonly names: readonly Name[] } | undefined;

interface Name {
  readonly device: string;
  readonly key: string;
}

function readNames(from: ByteReader): readonly Name[] {
  if (lastNames !== undefined && from.skip(lastNames.bytes)) return lastNames.names;
  const start = from.position;
  const names = Array.from({ length: from.varint() }, () => ({
    device: nameOf(from.text(), SELF),
    key: nameOf(from.text(), ''),
  }));
  lastNames = { bytes: from.copySince(start), names };
  return names;
}

function nameOf(text: string, whenEmpty: string): string {
  return text === '' ? whenEmpty : (JSON.parse(text) as string);
}

function writeDifferences(to: ByteWriter, values: readonly number[]): void {
  let last = 0;
  for (const value of values) {
    to.zigzag(value - last);
    last = value;
  }
}

function readDifferences(from: ByteReader, count: number): number[] {
  const values = new Array<number>(count);
  let value = 0;
  for (let at = 0; at < count; at += 1) {
    value += from.zigzag();
    values[at] = value;
  }
  return values;
}
