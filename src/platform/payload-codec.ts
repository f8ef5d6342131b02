/**
 * The one seam between values and the bytes of a payload. The contract lets a server exchange its payload module; whoever speaks to such
 * a server chooses another codec in the configuration, and nothing else changes.
 */
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
import type { TelemetryRows } from './device-api.ts';
import { TelemetryJson } from './telemetry-json.ts';
import { wireValue } from './wire-values.ts';

export interface PayloadCodec {
  readonly name: string;
  /** For `Content-Type` and `Accept`. */
  readonly contentType: string;
  /** Rows without a time are one object, rows of one timestamp a timestamped object, others an array of those. There is at least one row. */
  encodeTelemetry(rows: TelemetryRows): string | Uint8Array;
  encodeAttributes(attributes: JsonObject): string | Uint8Array;
  /** RPC requests, replies and claims: plain documents, whose numbers nobody stores. */
  encode(value: JsonValue): string | Uint8Array;
  /** @throws AgentError `json/…` or `cbor/…` (drop) for anything malformed, or deeper than 32 levels. */
  decode(bytes: Uint8Array): JsonValue;
}

/** Deepest nesting that an answer may have. */
export const DEEPEST_ANSWER = 32;
/** Values in an answer: a year of hours and more, in an attribute or in the params of a command. */
export const MAX_ANSWER_VALUES = 20_000;

const ANSWER_LIMITS = { depth: DEEPEST_ANSWER, values: MAX_ANSWER_VALUES };

const telemetryJson = new TelemetryJson();

export const jsonCodec: PayloadCodec = {
  name: 'json',
  contentType: 'application/json',
  encodeTelemetry: (rows) => telemetryJson.encode(rows),
  encodeAttributes: valuesJson,
  encode: stringifyJson,
  decode: (bytes) =>
    parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), ANSWER_LIMITS),
};

function valuesJson(values: Readonly<Record<string, JsonValue>>): string {
  let text = '{';
  for (const key of Object.keys(values)) {
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(key)}:${wireValue(values[key] as JsonValue)}`;
  }
  return `${text}}`;
}
