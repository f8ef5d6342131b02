/** Numbers and text in 16-bit Modbus registers: which word, and within it which byte, comes first differs from maker to maker. */
import { fitsModbus, type ModbusType, registersOf } from '../config/fields/modbus-types.ts';
import { AgentError, retryable } from '../errors/agent-error.ts';

export interface ModbusLayout {
  readonly type: ModbusType;
  /** Which word of a longer number comes first; `big`: the most significant. */
  readonly wordOrder: 'big' | 'little';
  readonly byteOrder: 'big' | 'little';
  /** For `bool` in a register. */
  readonly bit?: number | undefined;
}

const MAX_FLOAT32 = 2 ** 128 - 2 ** 104;

interface Codec {
  readonly read: (bytes: Buffer) => number | bigint;
  readonly write: (bytes: Buffer, value: number) => void;
}

const NUMBERS: Readonly<Record<Exclude<ModbusType, 'bool' | 'string'>, Codec>> = {
  uint16: { read: (bytes) => bytes.readUInt16BE(), write: (bytes, value) => bytes.writeUInt16BE(Math.round(value)) },
  int16: { read: (bytes) => bytes.readInt16BE(), write: (bytes, value) => bytes.writeInt16BE(Math.round(value)) },
  uint32: { read: (bytes) => bytes.readUInt32BE(), write: (bytes, value) => bytes.writeUInt32BE(Math.round(value)) },
  int32: { read: (bytes) => bytes.readInt32BE(), write: (bytes, value) => bytes.writeInt32BE(Math.round(value)) },
  uint64: {
    read: (bytes) => narrowed(bytes.readBigUInt64BE()),
    write: (bytes, value) => bytes.writeBigUInt64BE(BigInt(Math.round(value))),
  },
  int64: {
    read: (bytes) => narrowed(bytes.readBigInt64BE()),
    write: (bytes, value) => bytes.writeBigInt64BE(BigInt(Math.round(value))),
  },
  float32: {
    read: (bytes) => shortest(belowMost(finite(bytes.readFloatBE()))),
    write: (bytes, value) => bytes.writeFloatBE(value),
  },
  float64: { read: (bytes) => finite(bytes.readDoubleBE()), write: (bytes, value) => bytes.writeDoubleBE(value) },
};

/** Whole numbers past 2^53 are bigint. @throws AgentError `hardware/modbus-no-number` (retry) for a float that is none. */
export function decodeModbus(words: readonly number[], layout: ModbusLayout): boolean | number | bigint | string {
  const { type, bit = 0 } = layout;
  const bytes = Buffer.allocUnsafe(2 * words.length);
  let end = 0;
  for (const word of arranged(words, layout)) end = bytes.writeUInt16BE(word, end);
  if (type === 'bool') return ((bytes.readUInt16BE(0) >> bit) & 1) === 1;
  // Padded with NUL or blanks to the length of its registers.
  if (type === 'string')
    return bytes
      .toString('latin1')
      .replace(/\0[\s\S]*$/, '')
      .trimEnd();
  return NUMBERS[type].read(bytes);
}

/** @throws AgentError `hardware/modbus-no-number` (drop) for a value that the type cannot hold. */
export function encodeModbus(value: number, layout: ModbusLayout): readonly number[] {
  const { type, bit = 0 } = layout;
  const noNumber = (why: string): AgentError => new AgentError('hardware/modbus-no-number', why, { recovery: 'drop' });
  const whole = Math.round(value);
  if (!Number.isFinite(value) || !fitsModbus(type, whole)) throw noNumber(`${value} does not fit into ${type}`);
  if (type === 'string') throw noNumber('text cannot be written to a number');
  const bytes = Buffer.alloc(2 * registersOf(layout));
  if (type === 'bool') bytes.writeUInt16BE(whole === 0 ? 0 : 1 << bit);
  else NUMBERS[type].write(bytes, value);
  const words = Array.from({ length: registersOf(layout) }, (_, at) => bytes.readUInt16BE(2 * at));
  return arranged(words, layout);
}

/** Turns words round and their bytes, where the layout says so; its own inverse. Text keeps its words in order. */
function arranged(words: readonly number[], { type, wordOrder, byteOrder }: ModbusLayout): readonly number[] {
  const ordered = wordOrder === 'little' && type !== 'string' ? words.toReversed() : words;
  return byteOrder === 'big' ? ordered : ordered.map((word) => ((word & 0xff) << 8) | (word >> 8));
}

function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Returns the decimal with the fewest digits that is the same float32: nine are always enough. */
export function shortest(float: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(float.toPrecision(digits));
    if (Math.fround(short) === float) return short;
  }
  return Number(float.toPrecision(9));
}

/** The largest float32 of either sign marks a missing value, as in SolarEdge's batteries. */
function belowMost(value: number): number {
  if (Math.abs(value) < MAX_FLOAT32) return value;
  throw retryable('hardware/modbus-no-number', 'the registers hold no number');
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw retryable('hardware/modbus-no-number', 'the registers hold no number');
}
