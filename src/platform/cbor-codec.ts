/**
 * CBOR (RFC 8949) as payload format, for servers whose transport module was exchanged for it: about half of JSON's bytes. Doubles travel
 * whole, so nothing is rounded; integers keep all 64 bits.
 */
import { Decoder, Encoder, setSizeLimits } from 'cbor-x';
import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { TelemetryRows } from './device-api.ts';
import { DEEPEST_ANSWER, MAX_ANSWER_VALUES, type PayloadCodec } from './payload-codec.ts';
import { apartFrom } from './telemetry-json.ts';
import { fitsInt64 } from './wire-values.ts';

/** A header of five bytes can announce four thousand million members; no answer may hold more than this. */
const MAX_MEMBERS = 2 * MAX_ANSWER_VALUES;

/** Major types (RFC 8949, section 3.1). */
const BYTES = 2;
const TEXT = 3;
/** Length of a string that comes in pieces, and the byte that ends it (section 3.2.1). */
const INDEFINITE = 31;
const BREAK = 0xff;
/** 8 bytes are an int64; JSON's bound of 400 digits is 167. */
const MAX_BIGNUM_BYTES = 167;

/** cbor-x renames a `__proto__` key to this, and keeps it. */
const RENAMED_PROTO = '__proto_';

/** Makes the codec; cbor-x is only loaded into memory where it is configured. */
export function cborCodec(): PayloadCodec {
  setSizeLimits({ maxArraySize: MAX_MEMBERS, maxMapSize: MAX_MEMBERS, maxObjectSize: MAX_MEMBERS });
  const encoder = new Encoder({ useRecords: false, mapsAsObjects: true, tagUint8Array: false });
  const decoder = new Decoder({ useRecords: false, mapsAsObjects: true });
  const encode = (value: JsonValue): Uint8Array => encoder.encode(toCbor(value));
  return {
    name: 'cbor',
    contentType: 'application/cbor',
    encodeTelemetry: (rows) => {
      const records = recordsOf(rows);
      return encode(records.length === 1 ? (records[0] ?? {}) : records);
    },
    encodeAttributes: encode,
    encode,
    decode: (bytes) => {
      // The bound counts heads: a key of a map is one too.
      const whole = boundedCbor(bytes, MAX_MEMBERS);
      let decoded: unknown;
      try {
        decoded = decoder.decode(whole);
      } catch {
        // The library's error may quote the input; what it says helps nobody.
        throw malformed();
      }
      return fromCbor(decoded, DEEPEST_ANSWER);
    },
  };
}

/**
 * To be called before CBOR is decoded: a byte of it can become a value that takes a hundred. Returns it with every string of indefinite length in
 * one piece, as the decoder knows no other; servers in Java send texts of some thousand characters in pieces (RFC 8949, section 3.2.3).
 * @throws AgentError `cbor/too-large` (drop) for more values than that, or a number that takes seconds to make; `cbor/malformed` (drop) for pieces
 *   that are not of their string's type, or do not end.
 */
function boundedCbor(bytes: Uint8Array, maxValues: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let copiedTo = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; ) {
    const head = bytes[at] ?? 0;
    const { size, argument } = headAt(bytes, at, head & 0x1f);
    const major = head >> 5;
    const isString = major === BYTES || major === TEXT;
    values += 1;
    if (isString && (head & 0x1f) === INDEFINITE) {
      const { pieces, end } = piecesAt(bytes, at + size, major);
      values += pieces.length;
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      if (major === BYTES && length > MAX_BIGNUM_BYTES) throw tooLarge(`CBOR with a byte string of ${length} bytes`);
      parts.push(bytes.subarray(copiedTo, at), stringHead(major, length), ...pieces);
      at = end;
      copiedTo = end;
    } else {
      // Byte strings are bignums or nothing that JSON can hold.
      if (major === BYTES && argument > MAX_BIGNUM_BYTES)
        throw tooLarge(`CBOR with a byte string of ${argument} bytes`);
      at += isString ? size + argument : size;
    }
    if (values > maxValues) throw tooLarge(`CBOR of more than ${maxValues} values`);
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(copiedTo)]);
}

/** Pieces of a string from the byte after its head to its break, and where what follows begins. */
function piecesAt(
  bytes: Uint8Array,
  from: number,
  major: number,
): { readonly pieces: readonly Uint8Array[]; readonly end: number } {
  const pieces: Uint8Array[] = [];
  for (let at = from; ; ) {
    const head = bytes[at];
    if (head === BREAK) return { pieces, end: at + 1 };
    if (head === undefined || head >> 5 !== major || (head & 0x1f) > 27) throw malformed();
    const { size, argument } = headAt(bytes, at, head & 0x1f);
    at += size + argument;
    if (at > bytes.length) throw malformed();
    pieces.push(bytes.subarray(at - argument, at));
  }
}

function stringHead(major: number, length: number): Uint8Array {
  const head = Buffer.alloc(5);
  head[0] = (major << 5) | 26;
  head.writeUInt32BE(length, 1);
  return head;
}

/** How long a head is, and its argument: lengths follow in 1, 2, 4 or 8 bytes (table in section 3). */
function headAt(bytes: Uint8Array, at: number, info: number): { readonly size: number; readonly argument: number } {
  if (info < 24) return { size: 1, argument: info };
  if (info > 27) return { size: 1, argument: 0 };
  const length = 2 ** (info - 24);
  let argument = 0;
  for (let next = at + 1; next <= at + length; next += 1) argument = argument * 256 + (bytes[next] ?? 0);
  return { size: 1 + length, argument };
}

function malformed(): AgentError {
  return new AgentError('cbor/malformed', 'not CBOR', { recovery: 'drop' });
}

function tooLarge(message: string): AgentError {
  return new AgentError('cbor/too-large', message, { recovery: 'drop' });
}

/** The records that the JSON codec makes; rows without a time are one record without one. */
function recordsOf({ keys, values, ts }: TelemetryRows): JsonObject[] {
  const records: JsonObject[] = [];
  for (let row = 0; row < keys.length; ) {
    const at = ts?.[row];
    const own = new Map<string, JsonValue>();
    for (; row < keys.length && ts?.[row] === at; row += 1) {
      const key = keys[row] as string;
      const apart = apartFrom(key);
      if (at !== undefined && (own.has(key) || (apart !== undefined && own.has(apart)))) break;
      own.set(key, values[row] as JsonValue);
    }
    records.push(at === undefined ? Object.fromEntries(own) : { ts: at, values: Object.fromEntries(own) });
  }
  return records;
}

/** cbor-x writes whole numbers past 32 bits as doubles and every bigint in nine bytes; the form on the wire must follow the value alone. */
function toCbor(value: JsonValue): unknown {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && Math.abs(value) > 0x7fffffff ? BigInt(value) : value;
  if (typeof value === 'bigint') {
    if (!fitsInt64(value)) return value.toString();
    return value >= -0x7fffffffn && value <= 0x7fffffffn ? Number(value) : value;
  }
  if (Array.isArray(value)) return value.map(toCbor);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCbor(item as JsonValue)]));
}

function fromCbor(value: unknown, depth: number): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return null;
  if (depth === 0)
    throw new AgentError('cbor/too-deep', `CBOR nested deeper than ${DEEPEST_ANSWER} levels`, { recovery: 'drop' });
  if (Array.isArray(value)) return value.map((item) => fromCbor(item, depth - 1));
  if (Object.getPrototypeOf(value) !== Object.prototype)
    throw new AgentError('cbor/malformed', 'CBOR holds something that JSON has no word for', { recovery: 'drop' });
  const members = Object.entries(value).filter(([key]) => key !== RENAMED_PROTO);
  return Object.fromEntries(members.map(([key, item]) => [key, fromCbor(item, depth - 1)]));
}
