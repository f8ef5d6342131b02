/** Numbers and text in 16-bit Modbus registers: which word, and within it which byte, comes first differs from maker to maker. */
import { fitsModbus, type ModbusType, registersOf } from '../config/fields/modbus-types.ts';
import { AgentError } from '../errors.ts';

export interface ModbusLayout {
  readonly type: ModbusType;
  /** Which word of a longer number comes first; `big`: the most significant. */
  readonly wordOrder: 'big' | 'little';
  readonly byteOrder: 'big' | 'little';
  /** For `bool` in a register. */
  readonly bit?: number;
  /** For `string`: its registers. */
  readonly length?: number;
}

/** Whole numbers past 2^53 are bigint. @throws AgentError `hardware/modbus-no-number` (retry) for a float that is none. */
export function decodeModbus(words: readonly number[], layout: ModbusLayout): boolean | number | bigint | string {
  const view = new DataView(bytesOf(words, layout).buffer);
  switch (layout.type) {
    case 'bool':
      return ((view.getUint16(0) >> (layout.bit ?? 0)) & 1) === 1;
    case 'uint16':
      return view.getUint16(0);
    case 'int16':
      return view.getInt16(0);
    case 'uint32':
      return view.getUint32(0);
    case 'int32':
      return view.getInt32(0);
    case 'uint64':
      return narrowed(view.getBigUint64(0));
    case 'int64':
      return narrowed(view.getBigInt64(0));
    case 'float32':
      return finite(view.getFloat32(0));
    case 'float64':
      return finite(view.getFloat64(0));
    case 'string':
      // Padded with NUL or blanks to the length of its registers.
      return Buffer.from(view.buffer)
        .toString('latin1')
        .replace(/\0[\s\S]*$/, '')
        .trimEnd();
  }
}

/** @throws AgentError `hardware/modbus-no-number` (drop) for a value that the type cannot hold. */
export function encodeModbus(value: number, layout: ModbusLayout): readonly number[] {
  const view = new DataView(new ArrayBuffer(2 * registersOf(layout)));
  const whole = Math.round(value);
  if (!Number.isFinite(value) || !fitsModbus(layout.type, whole))
    throw new AgentError('hardware/modbus-no-number', `${value} does not fit into ${layout.type}`, { recovery: 'drop' });
  switch (layout.type) {
    case 'bool':
      view.setUint16(0, whole === 0 ? 0 : 1 << (layout.bit ?? 0));
      break;
    case 'uint16':
    case 'int16':
      view.setInt16(0, whole);
      break;
    case 'uint32':
    case 'int32':
      view.setInt32(0, whole);
      break;
    case 'uint64':
    case 'int64':
      view.setBigInt64(0, BigInt(whole));
      break;
    case 'float32':
      view.setFloat32(0, value);
      break;
    case 'float64':
      view.setFloat64(0, value);
      break;
    case 'string':
      throw new AgentError('hardware/modbus-no-number', 'text cannot be written to a number', { recovery: 'drop' });
  }
  const words = Array.from({ length: registersOf(layout) }, (_, at) => view.getUint16(2 * at));
  return arranged(words, layout);
}

/** Big-endian bytes, whatever the maker's order. */
function bytesOf(words: readonly number[], layout: ModbusLayout): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 * words.length);
  for (const [at, word] of arranged(words, layout).entries()) bytes.set([word >> 8, word & 0xff], 2 * at);
  return bytes;
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

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new AgentError('hardware/modbus-no-number', 'the registers hold no number', { recovery: 'retry' });
}
