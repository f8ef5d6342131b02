/**
 * Check sums of lines and frames on serial lines. Each kind says which bytes it is over, where it stands and how; `from`, `to` and `at` say it
 * otherwise, negative places from the end.
 */
import type { CheckConfig, CheckKind } from '../../config/fields/frames.ts';

interface Sum {
  /** Bytes that the sum takes; none when the whole must give 0, with the sum in it. */
  readonly width: 0 | 1 | 2;
  readonly of: (bytes: Uint8Array) => number;
  readonly order?: 'little';
}

const sum = (bytes: Uint8Array): number => bytes.reduce((total, byte) => total + byte, 0);

const SUMS: Readonly<Record<Exclude<CheckKind, 'nmea' | 'p1'>, Sum>> = {
  sum8: { width: 1, of: (bytes) => sum(bytes) & 0xff },
  'sum8-negative': { width: 1, of: (bytes) => -sum(bytes) & 0xff },
  sum16: { width: 2, of: (bytes) => sum(bytes) & 0xffff },
  xor: { width: 1, of: xor },
  lrc: { width: 1, of: (bytes) => -sum(bytes) & 0xff },
  'crc16-modbus': { width: 2, of: (bytes) => reflected(bytes, 0xa001, 0xffff), order: 'little' },
  'crc16-arc': { width: 2, of: (bytes) => reflected(bytes, 0xa001, 0), order: 'little' },
  'crc16-ccitt': { width: 2, of: ccitt },
  vedirect: { width: 0, of: (bytes) => sum(bytes) & 0xff },
};

/** True when the bytes are as they were sent; a line that is without the sum is damaged, too. */
export function isWhole(bytes: Buffer, { kind, from, to, at }: CheckConfig): boolean {
  if (kind === 'nmea' || kind === 'p1') return isWholeText(bytes, kind);
  const { width, of, order } = SUMS[kind];
  const place = placeOf(at ?? -width, bytes.length);
  const end = to === undefined ? (width === 0 ? bytes.length : place) : placeOf(to, bytes.length);
  const start = placeOf(from ?? 0, bytes.length);
  if (start < 0 || end <= start || end > bytes.length || place < 0 || place + width > bytes.length) return false;
  const expected = of(bytes.subarray(start, end));
  if (width === 0) return expected === 0;
  return expected === (order === 'little' ? bytes.readUIntLE(place, width) : bytes.readUIntBE(place, width));
}

/** `$…*HH` of NMEA 0183, section 5.3; `/…!HHHH` of DSMR 5.0.2 P1, section 5.2. */
function isWholeText(bytes: Buffer, kind: 'nmea' | 'p1'): boolean {
  const text = bytes.toString('latin1');
  const [, sentence, written] = (kind === 'nmea' ? /[$!]([^$!*]*)\*([\da-f]{2})\s*$/i : /(\/[^!]*!)([\da-f]{4})\s*$/i).exec(text) ?? [];
  if (sentence === undefined || written === undefined) return false;
  const summed = Buffer.from(sentence, 'latin1');
  return Number.parseInt(written, 16) === (kind === 'nmea' ? xor(summed) : reflected(summed, 0xa001, 0));
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
