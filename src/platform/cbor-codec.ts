/**
 * CBOR (RFC 8949) as payload format, for servers whose transport module was exchanged for it: about half of JSON's bytes. Doubles travel
 * whole, so nothing is rounded; integers keep all 64 bits.
 */
import { Decoder, Encoder, setSizeLimits } from 'cbor-x';
import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { TelemetryRows } from './device-api.ts';
import { DEEPEST_ANSWER, MAX_ANSWER_VALUES, type PayloadCodec } from './payload-codec.ts';
import { apartFrom } from './telemetry-json.ts';
import { fitsInt64 } from './wire-values.ts';

/** A header of five bytes can announce four thousand million members; no answer may hold more than this. */
const MAX_MEMBERS = 2 * MAX_ANSWER_VALUES;

/** Major types (RFC 8949, section 3.1). */
const BYTES = 2;
const TEXT = 3;
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
      checkCborBounds(bytes, MAX_MEMBERS);
      let decoded: unknown;
      try {
        decoded = decoder.decode(bytes);
      } catch {
        // The library's error may quote the input; what it says helps nobody.
        throw new AgentError('cbor/malformed', 'not CBOR', { recovery: 'drop' });
      }
      return fromCbor(decoded, DEEPEST_ANSWER);
    },
  };
}

/**
 * To be called before CBOR is decoded: a byte of it can become a value that takes a hundred.
 * @throws AgentError `cbor/too-large` (drop) for more values than that, or a number that takes seconds to make.
 */
function checkCborBounds(bytes: Uint8Array, maxValues: number): void {
  let values = 0;
  for (let at = 0; at < bytes.length; ) {
    const head = bytes[at] ?? 0;
    const { size, argument } = headAt(bytes, at, head & 0x1f);
    const major = head >> 5;
    at += size;
    values += 1;
    if (values > maxValues) throw tooLarge(`CBOR of more than ${maxValues} values`);
    // Byte strings are bignums or nothing that JSON can hold.
    if (major === BYTES && argument > MAX_BIGNUM_BYTES) throw tooLarge(`CBOR with a byte string of ${argument} bytes`);
    if (major === BYTES || major === TEXT) at += argument;
  }
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
