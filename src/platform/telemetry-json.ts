/**
 * Telemetry as JSON text, written byte by byte: a gateway with days of history to send spends most of its time here. What is not a plain
 * number is spelled by wire-values.ts, and so is every number that the quick way would not write exactly as that does.
 */
import type { JsonValue } from '../values/json.ts';
import type { TelemetryRows } from './device-api.ts';
import { wireValue } from './wire-values.ts';

const FIRST_CAPACITY = 4096;
/** More than any piece that is written without asking for room: what opens a record with its time, or a number. */
const MAX_PIECE_LENGTH = 64;
/** Keys come again and again; whoever makes them up as they go must not fill the memory. */
const MAX_KNOWN_KEYS = 4096;
/** A decimal of up to fifteen digits that gives back the very double is also its shortest spelling. */
const TOO_MANY_DIGITS = 1e15;
const POWERS_OF_TEN = [1, 10, 100, 1e3, 1e4, 1e5, 1e6];
const MAX_PLACES = POWERS_OF_TEN.length - 1;
const TEN_TO_NINE = 1_000_000_000;

const ZERO = 0x30;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;

interface Name {
  /** `"key":` */
  readonly bytes: Buffer;
  /** A key that may not be in one record with this one. */
  readonly apart: string | undefined;
  /** Decimals of its last value: the next one mostly has as many. */
  places: number;
}

export class TelemetryJson {
  #bytes = Buffer.alloc(0);
  #at = 0;
  readonly #names = new Map<string, Name>();

  /**
   * Rows of one timestamp become one record where they are neighbours; a key that comes again there begins another, and the server keeps the
   * later value. So does `ts` beside `values`, which together the server takes for a record within the record. At least one row.
   */
  encode({ keys, values, ts }: TelemetryRows): Uint8Array {
    this.#at = 0;
    let records = 1;
    let recordFrom = 0;
    this.#reserve(FIRST_CAPACITY);
    this.#ascii('[{');
    for (let row = 0; row < keys.length; row += 1) {
      const key = keys[row] as string;
      const name = this.#nameOf(key);
      this.#reserve(name.bytes.length + MAX_PIECE_LENGTH);
      if (row > 0 && (ts === undefined || (ts[row] === ts[recordFrom] && fits(key, name.apart, keys, recordFrom, row))))
        this.#byte(COMMA);
      else if (ts !== undefined) {
        if (row > 0) {
          this.#ascii('}},{');
          records += 1;
        }
        recordFrom = row;
        this.#ascii('"ts":');
        this.#whole(ts[row] as number);
        this.#ascii(',"values":{');
      }
      this.#copy(name.bytes);
      const value = values[row] as JsonValue;
      if (typeof value !== 'number' || !this.#number(value, name)) this.#text(wireValue(value));
    }
    this.#reserve(MAX_PIECE_LENGTH);
    this.#ascii(ts === undefined ? '}' : '}}');
    if (records > 1) this.#ascii(']');
    // A copy: the buffer is written again while this body is still on its way.
    return Buffer.from(this.#bytes.subarray(records > 1 ? 0 : 1, this.#at));
  }

  #text(text: string): void {
    this.#reserve(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** False when this number needs care. */
  #number(value: number, name: Name): boolean {
    const size = Math.abs(value);
    if (!hasPlaces(size, name.places)) {
      let places = 0;
      while (places <= MAX_PLACES && !hasPlaces(size, places)) places += 1;
      if (places > MAX_PLACES) return false;
      name.places = places;
    }
    const power = POWERS_OF_TEN[name.places] as number;
    const digits = Math.round(size * power);
    const whole = Math.floor(digits / power);
    if (value < 0) this.#byte(MINUS);
    this.#whole(whole);
    if (name.places > 0) {
      this.#byte(POINT);
      this.#digits(digits - whole * power, name.places);
    }
    return true;
  }

  /** A whole number from 0 to 10^15. */
  #whole(value: number): void {
    if (value >= TEN_TO_NINE) {
      const high = Math.floor(value / TEN_TO_NINE);
      this.#digits(high, lengthOf(high));
      this.#digits(value - high * TEN_TO_NINE, 9);
    } else this.#digits(value, lengthOf(value));
  }

  /** A whole number below 10^9, with zeros in front up to a length. */
  #digits(value: number, length: number): void {
    const bytes = this.#bytes;
    let rest = value | 0;
    for (let at = this.#at + length - 1; at >= this.#at; at -= 1) {
      const next = (rest / 10) | 0;
      bytes[at] = ZERO + rest - next * 10;
      rest = next;
    }
    this.#at += length;
  }

  #nameOf(key: string): Name {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_KNOWN_KEYS) this.#names.clear();
    const name = { bytes: Buffer.from(`${JSON.stringify(key)}:`), apart: apartFrom(key), places: 0 };
    this.#names.set(key, name);
    return name;
  }

  /** Names are short: a loop is quicker than a call into the runtime. */
  #copy(name: Buffer): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let from = 0; from < name.length; from += 1, at += 1) bytes[at] = name[from] as number;
    this.#at = at;
  }

  #ascii(text: string): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let from = 0; from < text.length; from += 1, at += 1) bytes[at] = text.charCodeAt(from);
    this.#at = at;
  }

  #byte(value: number): void {
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + more));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** The key that may not be in one record with this one: the server takes `ts` beside `values` for a record within the record. */
export function apartFrom(key: string): string | undefined {
  return key === 'ts' ? 'values' : key === 'values' ? 'ts' : undefined;
}

function fits(key: string, apart: string | undefined, keys: readonly string[], from: number, to: number): boolean {
  for (let at = from; at < to; at += 1)
    if (keys[at] === key || (apart !== undefined && keys[at] === apart)) return false;
  return true;
}

/** True when these are the fewest decimals with which a number is exactly itself, and few enough that nothing shorter spells it. */
function hasPlaces(size: number, places: number): boolean {
  const power = POWERS_OF_TEN[places] as number;
  const digits = Math.round(size * power);
  return digits < TOO_MANY_DIGITS && digits / power === size && (places === 0 || digits % 10 !== 0);
}

function lengthOf(value: number): number {
  let length = 1;
  for (let limit = 10; value >= limit; limit *= 10) length += 1;
  return length;
}
