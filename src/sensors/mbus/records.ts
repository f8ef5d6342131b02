/** Records of a meter's answer: its variable data structure (EN 13757-3), with the values as they came, before their unit is known. */
import { narrowed } from '../conversion/bit-field.ts';

export interface MbusRecord {
  /** 0 is now, minimum and maximum are of some time before. */
  readonly function: number;
  readonly storage: number;
  readonly tariff: number;
  readonly subunit: number;
  /** VIF and its extensions; empty for a unit that is written out, as text. */
  readonly vif: readonly number[];
  /** Undefined for one that the meter marks as none. */
  readonly value: number | bigint | string | undefined;
}

export interface MbusAnswer {
  readonly serialNumber: string;
  /** Three letters. */
  readonly maker: string;
  readonly medium: number;
  /** Those before a damaged one. */
  readonly records: readonly MbusRecord[];
  /** Fault of the damaged record, of whose length nothing is known, so that no other is read after it. */
  readonly damage?: string;
  readonly hasMore: boolean;
}

const VARIABLE_DATA = 0x72;
/** Identity, maker, version, medium, access number, status and signature. */
const HEADER_LENGTH = 12;
const MAX_EXTENSIONS = 10;
const FILLER = 0x2f;
const MORE_FOLLOWS = 0x1f;
const SPECIAL = 0x0f;
const EXTENSION = 0x80;
const WRITTEN_OUT = 0x7c;
const MAX_VALUE_TEXT = 0xbf;
/** Bytes by the lower four bits of a DIF. */
const INTEGERS: Readonly<Record<number, number>> = { 1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 7: 8 };
const BCDS: Readonly<Record<number, number>> = { 9: 1, 10: 2, 11: 3, 12: 4, 14: 6 };
/** Bytes of whole numbers that are longer than any quantity, by the byte of their length. */
const WIDE: Readonly<Record<number, number>> = { 240: 16, 241: 20, 242: 24, 243: 28, 244: 32, 245: 48, 246: 64 };
const REAL = 5;
const VARIABLE = 13;

/** @param content of a long frame: control, address, CI and data. @throws RangeError for what is no such answer; for half a header. */
export function answerOf(content: Uint8Array): MbusAnswer {
  const [, , ci = 0] = content;
  if (ci !== VARIABLE_DATA)
    throw new RangeError(`an answer of another form (0x${ci.toString(16)}) than is read here (0x72)`);
  const reader = new ByteReader(content.subarray(3));
  const header = reader.take(HEADER_LENGTH);
  const maker = header.readUInt16LE(4);
  return {
    serialNumber: header.subarray(0, 4).reverse().toString('hex'),
    maker: [10, 5, 0].map((shift) => String.fromCharCode(64 + ((maker >> shift) & 0x1f))).join(''),
    medium: header[7] ?? 0,
    ...recordsIn(reader),
  };
}

function recordsIn(reader: ByteReader): Pick<MbusAnswer, 'records' | 'damage' | 'hasMore'> {
  const records: MbusRecord[] = [];
  let last = FILLER;
  while (!reader.isAtEnd) {
    last = reader.next();
    if (last === FILLER) continue;
    // The rest after these is in a form of the maker's own.
    if ((last & SPECIAL) === SPECIAL) break;
    try {
      records.push(recordOf(last, reader));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { records, damage: `${error.message} (record ${records.length + 1})`, hasMore: false };
    }
  }
  return { records, hasMore: last === MORE_FOLLOWS };
}

function recordOf(dif: number, reader: ByteReader): MbusRecord {
  let storage = BigInt((dif >> 6) & 1);
  let tariff = 0;
  let subunit = 0;
  for (const [at, byte] of extensions(dif, reader).entries()) {
    storage |= BigInt(byte & 0x0f) << BigInt(1 + 4 * at);
    tariff |= ((byte >> 4) & 3) << (2 * at);
    subunit |= ((byte >> 6) & 1) << at;
  }
  const first = reader.next();
  const isWrittenOut = (first & ~EXTENSION) === WRITTEN_OUT;
  if (isWrittenOut) reader.take(reader.next());
  const more = extensions(first, reader);
  return {
    function: (dif >> 4) & 3,
    storage: Number(storage),
    tariff,
    subunit,
    vif: isWrittenOut ? [] : [first, ...more],
    value: decoded(dif & 0x0f, reader),
  };
}

/** Bytes that follow, each announced by the one before. */
function extensions(first: number, reader: ByteReader): readonly number[] {
  const found: number[] = [];
  for (let last = first; (last & EXTENSION) !== 0; found.push(last)) {
    if (found.length >= MAX_EXTENSIONS) throw new RangeError('a record with too many extensions');
    last = reader.next();
  }
  return found;
}

function decoded(form: number, reader: ByteReader): MbusRecord['value'] {
  if (form === REAL) return realOf(reader.take(4));
  if (form === VARIABLE) return variableOf(reader);
  const length = BCDS[form];
  return length === undefined ? integerOf(reader.take(INTEGERS[form] ?? 0)) : bcdOf(reader.take(length));
}

/** Text, a number in BCD, or a whole number, by the byte of its length. */
function variableOf(reader: ByteReader): MbusRecord['value'] {
  const length = reader.next();
  if (length <= MAX_VALUE_TEXT) return reader.take(length).reverse().toString('latin1');
  if (length < 0xd0) return bcdOf(reader.take(length - 0xc0));
  if (length < 0xe0) {
    const value = bcdOf(reader.take(length - 0xd0));
    return value === undefined ? undefined : -value;
  }
  if (length < 0xf0) return integerOf(reader.take(length - 0xe0));
  const wide = WIDE[length];
  if (wide === undefined) throw new RangeError('a value of no known length');
  reader.take(wide);
  return undefined;
}

function realOf(bytes: Buffer): number | undefined {
  const value = bytes.readFloatLE();
  // Seven digits are what it holds.
  return Number.isFinite(value) ? Number(value.toPrecision(7)) : undefined;
}

/** The lowest number of each length means that there is none. */
function integerOf(bytes: Buffer): number | bigint | undefined {
  if (bytes.length === 0) return undefined;
  const bits = 8 * bytes.length;
  const value = BigInt.asIntN(bits, BigInt(`0x${bytes.reverse().toString('hex')}`));
  return value === -(1n << BigInt(bits - 1)) ? undefined : narrowed(value);
}

/** A first digit F is a minus; other letters are what a display would show, and no number. */
function bcdOf(bytes: Buffer): number | bigint | undefined {
  const [, minus, digits] = /^(f?)(\d+)$/.exec(bytes.reverse().toString('hex')) ?? [];
  return digits === undefined ? undefined : narrowed(BigInt(digits) * (minus === 'f' ? -1n : 1n));
}

class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(): number {
    return this.take(1)[0] ?? 0;
  }

  take(count: number): Buffer {
    if (this.#at + count > this.#bytes.length) throw new RangeError('an answer that ends within a record');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}
