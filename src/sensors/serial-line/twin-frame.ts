/** Frames that a twin sends: each field holds a small number, and the check sum fits. */
import { reflectedCrc } from '../../stand-ins/simulated-board/reflected-crc.ts';
import type { SerialLineConfig } from './definition.ts';

type Frame = NonNullable<SerialLineConfig['frame']>;
type Field = Pick<NonNullable<SerialLineConfig['fields']>[string], 'at' | 'order'> & { readonly type: string };
type Check = NonNullable<SerialLineConfig['check']>;

/** Small enough for each type. */
const FIRST_VALUE = 20;

/** Bytes of a sum, and the sum. */
const SUMS: Readonly<Record<string, readonly [width: number, of: (bytes: Uint8Array) => number]>> = {
  sum8: [1, (bytes) => total(bytes) & 0xff],
  'sum8-negative': [1, (bytes) => -total(bytes) & 0xff],
  lrc: [1, (bytes) => -total(bytes) & 0xff],
  xor: [1, (bytes) => bytes.reduce((all, byte) => all ^ byte, 0)],
  sum16: [2, (bytes) => total(bytes) & 0xffff],
  'crc16-modbus': [2, (bytes) => swapped(reflectedCrc(bytes, 0xa001, 0xffff))],
  'crc16-arc': [2, (bytes) => swapped(reflectedCrc(bytes, 0xa001, 0))],
  'crc16-ccitt': [
    2,
    (bytes) =>
      turned(
        reflectedCrc(
          bytes.map((byte) => turned(byte) >> 8),
          0x8408,
          0,
        ),
      ),
  ],
};

/** Returns the bytes of a frame in hex; empty for a check sum of text. */
export function frameLike({
  frame,
  fields = {},
  check,
}: Pick<SerialLineConfig, 'fields' | 'check'> & { readonly frame: Frame }): string {
  const sum = check === undefined ? undefined : SUMS[check.kind];
  if (check !== undefined && sum === undefined) return '';
  const end = bytesOf(frame.end ?? '');
  const ends = Object.values(fields).map(({ at, type }) => at + widthOf(type));
  const open = Math.max(0, ...ends) + Math.max(sum?.[0] ?? 0, frame.tail) + end.length;
  const bytes = Buffer.alloc(typeof frame.length === 'number' ? frame.length : open);
  for (const [at, field] of Object.values(fields).entries()) writeNumber(bytes, field, FIRST_VALUE + at);
  bytesOf(frame.start ?? '').copy(bytes);
  if (typeof frame.length === 'object') writeNumber(bytes, frame.length, bytes.length - frame.length.add);
  end.copy(bytes, bytes.length - end.length - frame.tail);
  if (check !== undefined && sum !== undefined) seal(bytes, check, sum);
  return bytes.toString('hex');
}

function seal(
  bytes: Buffer,
  { from = 0, to, at }: Check,
  [width, of]: readonly [number, (bytes: Uint8Array) => number],
): void {
  const placed = (place: number): number => (place < 0 ? bytes.length + place : place);
  const place = placed(at ?? -width);
  bytes.writeUIntBE(of(bytes.subarray(placed(from), to === undefined ? place : placed(to))), place, width);
}

function writeNumber(bytes: Buffer, { at, type, order }: Field, value: number): void {
  const little = order === 'little';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (type === 'float32') view.setFloat32(at, value, little);
  else if (type === 'float64') view.setFloat64(at, value, little);
  else bytes.writeUInt8(value, little ? at : at + widthOf(type) - 1);
}

function widthOf(type: string): number {
  return Number(type.replace(/\D/g, '')) / 8;
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replace(/\s/g, ''), 'hex');
}

function total(bytes: Uint8Array): number {
  return bytes.reduce((all, byte) => all + byte, 0);
}

function swapped(word: number): number {
  return ((word & 0xff) << 8) | (word >> 8);
}

/** The sixteen bits in the other direction. */
function turned(word: number): number {
  return Number.parseInt([...word.toString(2).padStart(16, '0')].reverse().join(''), 2);
}
