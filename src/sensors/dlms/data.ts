/** Data of a pushed message (A-XDR, IEC 62056-6-1 and 62056-5-3): types, lengths and values in structures of structures. */
import { narrowed } from '../conversion/bit-field.ts';
import { lengthAt } from '../families/ciphers/axdr-length.ts';

/** Short names of the types, as the lists write them. */
export type DataType =
  | 'null'
  | 'array'
  | 'structure'
  | 'boolean'
  | 'bits'
  | 'i8'
  | 'i16'
  | 'i32'
  | 'i64'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'f32'
  | 'f64'
  | 'octets'
  | 'text'
  | 'enum'
  | 'time';

export interface Datum {
  readonly type: DataType;
  /** Members of structures and arrays. */
  readonly items: readonly Datum[];
  /** Content of octets and texts. */
  readonly bytes: Uint8Array;
  readonly number: number | bigint | undefined;
}

/** Types by tag, with the bytes of those that have no length of their own. */
const FIXED: Readonly<Record<number, readonly [type: DataType, bytes: number]>> = {
  3: ['boolean', 1],
  5: ['i32', 4],
  6: ['u32', 4],
  13: ['u8', 1],
  15: ['i8', 1],
  16: ['i16', 2],
  17: ['u8', 1],
  18: ['u16', 2],
  20: ['i64', 8],
  21: ['u64', 8],
  22: ['enum', 1],
  23: ['f32', 4],
  24: ['f64', 8],
  25: ['time', 12],
  26: ['time', 5],
  27: ['time', 4],
};
const NESTED: Readonly<Record<number, DataType>> = { 1: 'array', 2: 'structure' };
const COUNTED: Readonly<Record<number, DataType>> = { 9: 'octets', 10: 'text', 12: 'text' };
const BITS = 4;
/** Lists lie three deep. */
const MAX_DEPTH = 8;
/** The longest list has some 130 items. */
const MAX_ITEMS = 1_024;

const DATA_NOTIFICATION = 0x0f;
const EVENT_NOTIFICATION = 0xc2;
const GET_RESPONSE = 0xc4;
/** Number, and priority. */
const INVOKE_ID = 4;
const TIME_LENGTH = 12;
const NO_BYTES = new Uint8Array();

/** The data of a plain message. @throws RangeError for bytes that are no such message. */
export function dataOf(message: Uint8Array): Datum {
  const reader = new DataReader(message);
  reader.skip(headerOf(message));
  const data = reader.read();
  if (!reader.isAtEnd) throw new RangeError('a message that goes on behind its data');
  return data;
}

/** Bytes before the data. */
function headerOf(message: Uint8Array): number {
  const [tag, kind] = message;
  if (tag === DATA_NOTIFICATION) return timeEnd(message, 1 + INVOKE_ID);
  // Class, code and attribute of what happened.
  if (tag === EVENT_NOTIFICATION) return timeEnd(message, 1) + 9;
  if (tag === GET_RESPONSE && kind === 1) return 4;
  throw new RangeError('a message of no known kind');
}

/** A time may be missing (00), come as it is (0C), or as octets (09 0C). */
function timeEnd(message: Uint8Array, from: number): number {
  const [mark, length] = message.subarray(from);
  if (mark === 0) return from + 1;
  if (mark === TIME_LENGTH) return from + 1 + TIME_LENGTH;
  if (mark === 9 && length === TIME_LENGTH) return from + 2 + TIME_LENGTH;
  throw new RangeError('a message whose time has no known form');
}

class DataReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(count: number): void {
    this.#take(count);
  }

  read(depth = 0): Datum {
    this.#count += 1;
    if (depth > MAX_DEPTH || this.#count > MAX_ITEMS) throw new RangeError('data that lie too deep, or are too many');
    const [tag = 0] = this.#take(1);
    if (tag === 0) return datum('null');
    const nested = NESTED[tag];
    if (nested !== undefined) {
      const count = this.#length();
      return datum(nested, { items: Array.from({ length: this.#bounded(count) }, () => this.read(depth + 1)) });
    }
    const counted = COUNTED[tag];
    if (counted !== undefined) return datum(counted, { bytes: this.#take(this.#length()) });
    if (tag === BITS) return datum('bits', { bytes: this.#take(Math.ceil(this.#length() / 8)) });
    const fixed = FIXED[tag];
    if (fixed === undefined) throw new RangeError(`data of no known type (${tag})`);
    const [type, width] = fixed;
    const bytes = this.#take(width);
    return type === 'time' ? datum(type, { bytes }) : datum(type, { number: numberOf(type, bytes) });
  }

  /** Each item has a byte at least. */
  #bounded(count: number): number {
    if (count > this.#bytes.length - this.#at) throw new RangeError('a list that is longer than its message');
    return count;
  }

  #length(): number {
    const { length, at } = lengthAt(this.#bytes, this.#at);
    this.#at = at;
    return length;
  }

  #take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw new RangeError('a message that ends within its data');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}

function datum(type: DataType, { items = [], bytes = NO_BYTES, number }: Partial<Datum> = {}): Datum {
  return { type, items, bytes, number };
}

function numberOf(type: DataType, bytes: Uint8Array): number | bigint {
  const buffer = Buffer.from(bytes);
  if (type === 'f32') return Number(buffer.readFloatBE().toPrecision(7));
  if (type === 'f64') return buffer.readDoubleBE();
  if (type.startsWith('i')) {
    if (bytes.length < 8) return buffer.readIntBE(0, bytes.length);
    return narrowed(buffer.readBigInt64BE());
  }
  return bytes.length < 8 ? buffer.readUIntBE(0, bytes.length) : narrowed(buffer.readBigUInt64BE());
}
