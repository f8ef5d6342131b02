/**
 * Check sums of lines and frames on serial lines. Each kind says which bytes it is over, where it stands and how; `from`, `to` and `at` say it
 * otherwise, negative places from the end.
 */
import type { CheckConfig, CheckKind } from './frames.ts';

interface Sum {
  /** Bytes that the sum takes; none when the whole must give 0, with the sum in it. */
  readonly width: 0 | 1 | 2;
  readonly of: (bytes: Uint8Array) => number;
  readonly order?: 'little';
}

const sum = (bytes: Uint8Array): number => bytes.reduce((total, byte) => total + byte, 0);

/** Sums of bytes, and those that are written in a text, by what holds for it. */
const CHECKS: Readonly<Record<CheckKind, Sum | ((text: string) => boolean)>> = {
  sum8: { width: 1, of: (bytes) => sum(bytes) & 0xff },
  'sum8-negative': { width: 1, of: (bytes) => -sum(bytes) & 0xff },
  sum16: { width: 2, of: (bytes) => sum(bytes) & 0xffff },
  'sum16-negative': { width: 2, of: (bytes) => -sum(bytes) & 0xffff },
  xor: { width: 1, of: xor },
  lrc: { width: 1, of: (bytes) => -sum(bytes) & 0xff },
  'crc16-modbus': { width: 2, of: (bytes) => reflected(bytes, 0xa001, 0xffff), order: 'little' },
  'crc16-arc': { width: 2, of: (bytes) => reflected(bytes, 0xa001, 0), order: 'little' },
  'crc16-ccitt': { width: 2, of: ccitt },
  'crc16-voltronic': { width: 2, of: voltronic },
  vedirect: { width: 0, of: (bytes) => sum(bytes) & 0xff },
  /** `$…*HH` of NMEA 0183, section 5.3, and `<STX>…<ETX>HH` of anemometers. */
  nmea: (text) => isSum(/[$!\p{Cc}]([^$!*\p{Cc}]*)[*\p{Cc}]([\da-f]{2})\s*$/iu.exec(text), xor),
  /** `/…!HHHH` of DSMR 5.0.2 P1, section 5.2; some meters leave leading zeros out. */
  p1: (text) => isSum(/(\/[^!]*!)([\da-f]{1,4})\s*$/i.exec(text), (bytes) => reflected(bytes, 0xa001, 0)),
  /** Groups of a frame, from LF to CR, each with its own sum (Enedis-NOI-CPT_54E): a tab before the sum is in it, a blank is not. */
  teleinfo: (text) => {
    const groups = text.match(/\n[^\r]*\r/g) ?? [];
    const isGood = (group: string): boolean => {
      const summed = Buffer.from(group.slice(1, group.at(-3) === '\t' ? -2 : -3), 'latin1');
      return (sum(summed) & 0x3f) + 0x20 === group.charCodeAt(group.length - 2);
    };
    return groups.length > 0 && groups.every(isGood);
  },
};

/** True when the bytes are as they were sent; a line that is without the sum is damaged, too. */
export function isWhole(bytes: Buffer, { kind, from, to, at }: CheckConfig): boolean {
  const check = CHECKS[kind];
  if (typeof check === 'function') return check(bytes.toString('latin1'));
  const { width, of, order } = check;
  const place = placeOf(at ?? -width, bytes.length);
  const end = to === undefined ? (width === 0 ? bytes.length : place) : placeOf(to, bytes.length);
  const start = placeOf(from ?? 0, bytes.length);
  if (start < 0 || end <= start || end > bytes.length || place < 0 || place + width > bytes.length) return false;
  const expected = of(bytes.subarray(start, end));
  if (width === 0) return expected === 0;
  return expected === (order === 'little' ? bytes.readUIntLE(place, width) : bytes.readUIntBE(place, width));
}

/** Returns the check sum of bytes as a device expects it behind them; undefined for a kind that is no plain sum of bytes. */
export function sumOf(bytes: Uint8Array, kind: CheckKind): Buffer | undefined {
  const check = CHECKS[kind];
  if (typeof check === 'function' || check.width === 0) return undefined;
  const sum = Buffer.alloc(check.width);
  if (check.order === 'little') sum.writeUIntLE(check.of(bytes), 0, check.width);
  else sum.writeUIntBE(check.of(bytes), 0, check.width);
  return sum;
}

/** HEX message of VE.Direct, which comes at any place in the text and is not in its sum. */
const VEDIRECT_HEX = /:[\dA-F]+\n/g;

/** Returns the frame as its check sum means it: without messages of another protocol within. */
export function summedFrame(frame: Buffer, check: CheckConfig | undefined): Buffer {
  return check?.kind === 'vedirect' ? Buffer.from(frame.toString('latin1').replace(VEDIRECT_HEX, ''), 'latin1') : frame;
}

/** Place behind the last byte that may be a value: a check sum that is counted from the end closes the data. */
export function endOfData(bytes: Uint8Array, check: CheckConfig | undefined): number {
  const sum = check === undefined ? undefined : CHECKS[check.kind];
  if (check === undefined || sum === undefined || typeof sum === 'function') return bytes.length;
  const at = check.at ?? -(sum.width || 1);
  return at < 0 ? placeOf(at, bytes.length) : bytes.length;
}

function isSum(found: RegExpExecArray | null, of: Sum['of']): boolean {
  const [, summed, written] = found ?? [];
  if (summed === undefined || written === undefined) return false;
  return Number.parseInt(written, 16) === of(Buffer.from(summed, 'latin1'));
}

function placeOf(place: number, length: number): number {
  return place < 0 ? length + place : place;
}

function xor(bytes: Uint8Array): number {
  return bytes.reduce((all, byte) => all ^ byte, 0);
}

function reflected(bytes: Uint8Array, polynomial: number, start: number): number {
  let crc = start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ polynomial : crc >> 1;
  }
  return crc;
}

/** Polynomial 0x1021 from 0, the high bit first, as XMODEM has it. */
function ccitt(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

/** The same, of which a byte that would be `(`, CR or LF is one more. */
function voltronic(bytes: Uint8Array): number {
  const crc = ccitt(bytes);
  const escaped = (byte: number): number => ([0x28, 0x0d, 0x0a].includes(byte) ? byte + 1 : byte);
  return (escaped(crc >> 8) << 8) | escaped(crc & 0xff);
}
