/**
 * The inside of a block: entries as columns, one per key, so that what is alike lies together.
 *
 *   key table      count, then (device, key) each
 *   key column     which key each entry has, in the order of appending
 *   time columns   ms differences in that order; for entries that bring their own time, that time and the monotonic one
 *   sequences      only where thinning left gaps
 *   value columns  one per key, in the order of the table
 */
import type { JsonValue } from '../host/json.ts';
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
  /** UTC epoch ms of entries that bring their own time; absent otherwise. */
  readonly takenAtMs?: readonly number[];
  /** Absent when they follow each other without a gap from `firstSequence`. */
  readonly sequences?: readonly number[];
}

interface Column {
  readonly index: number;
  readonly device: string;
  readonly key: string;
  readonly values: JsonValue[];
}

/** Most entries are of the gateway itself: it costs one byte. */
const SELF = 'self';

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
    const own = new Map<string, Column>();
    const columns: Column[] = [];
    const order = this.#order;
    order.clear();
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at] as string;
      const device = devices[at] as string;
      const name = device === SELF ? key : `${device}\0${key}`;
      let column = own.get(name);
      if (column === undefined || column.device !== device || column.key !== key) {
        column = columns.find((other) => other.device === device && other.key === key);
        if (column === undefined) {
          column = { index: columns.length, device, key, values: [] };
          columns.push(column);
        }
        own.set(name, column);
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
  const names = Array.from({ length: from.varint() }, () => ({ device: nameOf(from.text(), SELF), key: nameOf(from.text(), '') }));
  const order = Array.from({ length: count }, () => from.varint());
  const monotonicMs = readDifferences(from, count);
  const takenAtMs = block.ownTime ? readDifferences(from, count) : undefined;
  const sequences = block.gaps ? readDifferences(from, count) : undefined;
  const counts = new Array<number>(names.length).fill(0);
  for (const index of order) counts[index] = (counts[index] as number) + 1;
  const columns = counts.map((length) => readColumn(from, length));
  const next = new Array<number>(names.length).fill(0);
  const devices = new Array<string>(count);
  const keys = new Array<string>(count);
  const values = new Array<JsonValue>(count);
  for (let at = 0; at < count; at += 1) {
    const index = order[at] as number;
    const name = names[index] as { device: string; key: string };
    const row = next[index] as number;
    next[index] = row + 1;
    devices[at] = name.device;
    keys[at] = name.key;
    values[at] = (columns[index] as JsonValue[])[row] as JsonValue;
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
