/**
 * Values that may go on the wire, and their spelling there (wire-facts.md, "Values"). The server accepts some keys, times and values with a 200
 * and loses them on saving, with everything of the same timestamp: keys get another name here, the rest is refused, where someone can still
 * be told. Numbers are spelled so that what is stored is the number it was; those for which there is no such spelling go as text.
 */
import { crc32 } from 'node:zlib';
import { type JsonValue, stringifyJson } from '../values/json.ts';

/** In UTF-16 units, as the server counts. */
const MAX_KEY_LENGTH = 255;
/** The server's check against markup takes keys of these kinds for an attack. */
const MARKUP = /</;
const TEMPLATE = /\{\{.*\}\}/s;
const CONTROL = /\p{Cc}/u;
/** Java counts some control characters among blanks, JavaScript the no-break space: neither makes a key. */
const BLANK = /^[\p{Cc}\p{Cf}\p{Z}\s]*$/u;
/** Characters that cannot stay in a renamed key. */
const UNSENDABLE = /[<\p{Cc}\ufffd]|\{\{|\}\}/gu;
const SPLIT_PAIR = /[\ud800-\udbff]$/;

/** The server's database writes years with four digits. */
const MAX_TIME_MS = Date.UTC(10_000, 0, 1) - 1;

/** The column that strings go to. */
const MAX_STRING_LENGTH = 10_000_000;
/** The server's parser ends at 255; the envelope takes a few. */
const MAX_VALUE_DEPTH = 240;

/** More digits than this after the point, and the server stores a string. */
const MAX_DECIMALS = 16;
/** A single digit in the last of these places becomes a string too: the server writes it `2.0E-16` to itself, which has one place more. */
const MIN_SIZE = 1e-15;
/** Largest part that rounding to so many decimals may take from a number: half the last place of single precision, more than any sensor has. */
const MAX_RELATIVE_ERROR = 2 ** -24;

/** A device has some hundred keys; whoever makes keys up as they go must not fill the memory. */
const MAX_KNOWN_KEYS = 4096;
const MAX_KNOWN_KEY_LENGTH = 1024;

const MIN_INT64 = -(2n ** 63n);
const GREATEST_INT64 = 2n ** 63n - 1n;
const TOO_GREAT = 2 ** 63;

/** Why the server would lose a value with this key, or undefined when it would not. */
export function keyFault(key: string): string | undefined {
  if (BLANK.test(key)) return 'the key is blank';
  if (key.length > MAX_KEY_LENGTH) return `the key has ${key.length} characters, at most ${MAX_KEY_LENGTH} are stored`;
  if (MARKUP.test(key)) return 'the key holds <, which the server takes for markup';
  if (TEMPLATE.test(key)) return 'the key holds {{…}}, which the server takes for a template';
  if (CONTROL.test(key)) return 'the key holds a control character';
  if (!key.isWellFormed()) return 'the key holds half a character';
  return undefined;
}

/** The key under which the server keeps a value: the key itself, or one that is as like it as can be, always the same and no other key's. */
export function sendableKey(key: string): string {
  if (keyFault(key) === undefined) return key;
  const mark = `_${crc32(Buffer.from(key, 'utf16le')).toString(16).padStart(8, '0')}`;
  const readable = key.toWellFormed().replace(UNSENDABLE, '_').trim();
  const cut = readable.slice(0, MAX_KEY_LENGTH - mark.length).replace(SPLIT_PAIR, '');
  return `${BLANK.test(cut) ? 'key' : cut}${mark}`;
}

/** Remembers under which name a key is sent: keys come again and again, and looking at each costs more than the map does. */
export class SendableKeys {
  readonly #known = new Map<string, string>();

  /** The key itself, or the name under which the server keeps what it would lose under this one. */
  of(key: string): string {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const name = sendableKey(key);
    if (key.length > MAX_KNOWN_KEY_LENGTH) return name;
    if (this.#known.size >= MAX_KNOWN_KEYS) this.#known.clear();
    this.#known.set(key, name);
    return name;
  }
}

/** Why the server would lose a value of this time (UTC epoch ms), with everything else of the same timestamp; undefined when it would not. */
export function timeFault(ts: number): string | undefined {
  if (!Number.isInteger(ts) || ts < 0) return `ts ${ts} is no UTC epoch in ms`;
  return ts > MAX_TIME_MS ? `ts ${ts} is in the year 10000 or later` : undefined;
}

/** Why the server would lose this value, or undefined when it would not. */
export function valueFault(value: JsonValue): string | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : `${value} is not a number that can be sent`;
  if (typeof value === 'string')
    return value.length > MAX_STRING_LENGTH
      ? `a text of ${value.length} characters, at most ${MAX_STRING_LENGTH} are stored`
      : undefined;
  if (typeof value === 'boolean' || typeof value === 'bigint') return undefined;
  if (typeof value !== 'object') return `${typeof value} is no value`;
  if (value === null) return 'null is not stored';
  return isDeeper(value, MAX_VALUE_DEPTH) ? `it is nested deeper than ${MAX_VALUE_DEPTH} levels` : undefined;
}

/**
 * The JSON text of a telemetry or attribute value. Whole numbers within int64 are written digit for digit, fractions without exponent and
 * with at most 16 decimals. What the server would store as text however it is spelled is sent as text, see `isSentAsText`.
 */
export function wireValue(value: JsonValue): string {
  if (typeof value === 'number') return wireNumber(value);
  if (typeof value === 'bigint') return fitsInt64(value) ? value.toString() : `"${value}"`;
  if (typeof value === 'object' && value !== null) return stringifyJson(value);
  return JSON.stringify(value);
}

/**
 * True when the server has no room for this number: whole ones outside int64, and fractions of which 16 decimals would leave less than single
 * precision. They arrive as text that reads back as the very number. Within JSON objects and arrays every number stays one.
 */
export function isSentAsText(value: JsonValue): boolean {
  if (typeof value === 'bigint') return !fitsInt64(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  return Number.isInteger(value) ? value >= TOO_GREAT || value < -TOO_GREAT : decimalOf(value) === undefined;
}

export function fitsInt64(value: bigint): boolean {
  return value >= MIN_INT64 && value <= GREATEST_INT64;
}

function wireNumber(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (isSentAsText(value)) return `"${value}"`;
  if (!Number.isInteger(value)) return decimalOf(value) as string;
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

/** A fraction with at most 16 decimals; undefined when that would be another number. */
function decimalOf(value: number): string | undefined {
  const size = Math.abs(value);
  if (size < MIN_SIZE) return undefined;
  const shortest = String(value);
  if (!shortest.includes('e') && shortest.length - shortest.indexOf('.') - 1 <= MAX_DECIMALS) return shortest;
  const rounded = value.toFixed(MAX_DECIMALS).replace(/0+$/, '');
  if (Math.abs(Number(rounded) - value) > size * MAX_RELATIVE_ERROR) return undefined;
  return rounded.endsWith('.') ? `${rounded}0` : rounded;
}

function isDeeper(value: JsonValue, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((item) => isDeeper(item as JsonValue, depth - 1));
}
