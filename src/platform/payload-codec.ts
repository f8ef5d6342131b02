/**
 * The one seam between values and the bytes of a payload. The contract lets a server exchange its payload module; whoever speaks to such
 * a server chooses another codec in the configuration, and nothing else changes.
 */
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { TelemetryRecord } from './device-api.ts';
import { wireValue } from './wire-values.ts';

export interface PayloadCodec {
  readonly name: string;
  /** For `Content-Type` and `Accept`. */
  readonly contentType: string;
  /** All three forms: one record without `ts` is an object, with `ts` a timestamped object, several an array of either. Never given an empty list. */
  encodeTelemetry(records: readonly TelemetryRecord[]): string | Uint8Array;
  encodeAttributes(attributes: JsonObject): string | Uint8Array;
  /** RPC requests, replies and claims: plain documents, whose numbers nobody stores. */
  encode(value: JsonValue): string | Uint8Array;
  /** @throws AgentError `json/…` or `cbor/…` (drop) for anything malformed, or deeper than 32 levels. */
  decode(bytes: Uint8Array): JsonValue;
}

/** Deepest nesting that an answer may have. */
export const DEEPEST_ANSWER = 32;

/**
 * What JSON.stringify may spell in a way that the server stores as another type: an exponent, more than 16 decimals, a whole double past
 * 2^53. Text that only looks like it (in a string) takes the slow way too, which is right for everything.
 */
const NEEDS_CARE = /\d(?:[eE]|\d{15})/;

export const jsonCodec: PayloadCodec = {
  name: 'json',
  contentType: 'application/json',
  encodeTelemetry: (records) => quickTelemetry(records) ?? carefulTelemetry(records),
  encodeAttributes: valuesJson,
  encode: stringifyJson,
  decode: (bytes) => parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), { depth: DEEPEST_ANSWER }),
};

/** Several times faster than value by value; undefined when a value needs care, or is a long that JSON.stringify refuses. */
function quickTelemetry(records: readonly TelemetryRecord[]): string | undefined {
  const plain = records.map(({ ts, values }) => (ts === undefined ? values : { ts, values }));
  try {
    const text = JSON.stringify(plain.length === 1 ? plain[0] : plain);
    return NEEDS_CARE.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function carefulTelemetry(records: readonly TelemetryRecord[]): string {
  const parts = records.map(recordJson);
  return parts.length === 1 ? (parts[0] ?? '') : `[${parts.join(',')}]`;
}

function recordJson(record: TelemetryRecord): string {
  const values = valuesJson(record.values);
  return record.ts === undefined ? values : `{"ts":${record.ts},"values":${values}}`;
}

function valuesJson(values: Readonly<Record<string, JsonValue>>): string {
  let text = '{';
  for (const key of Object.keys(values)) {
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(key)}:${wireValue(values[key] as JsonValue)}`;
  }
  return `${text}}`;
}
