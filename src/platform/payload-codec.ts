/**
 * The one seam between values and the bytes of a payload. The contract lets a server exchange its payload module; whoever speaks to such
 * a server chooses another codec in the configuration, and nothing else changes.
 */
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { TelemetryRows } from './device-api.ts';
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

export const jsonCodec: PayloadCodec = {
  name: 'json',
  contentType: 'application/json',
  encodeTelemetry: (rows) => oneOrMore(telemetryRecords(rows).map(recordJson)),
  encodeAttributes: (attributes) => valuesJson(Object.entries(attributes)),
  encode: stringifyJson,
  decode: (bytes) => parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), ANSWER_LIMITS),
};

export interface TelemetryRecord {
  readonly ts: number | undefined;
  readonly values: ReadonlyMap<string, JsonValue>;
}

/**
 * Rows of one timestamp become one record where they are neighbours; a key that comes again there begins another, and the server keeps the
 * later value. So does `ts` beside `values`, which together the server takes for a record within the record.
 */
export function telemetryRecords({ keys, values, ts }: TelemetryRows): readonly TelemetryRecord[] {
  const records: TelemetryRecord[] = [];
  for (let row = 0; row < keys.length; ) {
    const at = ts?.[row];
    const own = new Map<string, JsonValue>();
    for (; row < keys.length && ts?.[row] === at; row += 1) {
      const key = keys[row] as string;
      const apart = key === 'ts' ? 'values' : 'ts';
      if (at !== undefined && (own.has(key) || ((key === 'ts' || key === 'values') && own.has(apart)))) break;
      own.set(key, values[row] as JsonValue);
    }
    records.push({ ts: at, values: own });
  }
  return records;
}

function recordJson({ ts, values }: TelemetryRecord): string {
  const json = valuesJson(values);
  return ts === undefined ? json : `{"ts":${ts},"values":${json}}`;
}

function oneOrMore(records: readonly string[]): string {
  return records.length === 1 ? (records[0] ?? '') : `[${records.join()}]`;
}

function valuesJson(values: Iterable<readonly [string, JsonValue]>): string {
  let text = '';
  for (const [key, value] of values) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${wireValue(value)}`;
  return `{${text}}`;
}
