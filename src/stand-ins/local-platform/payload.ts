/**
 * Payloads as the real platform's transport reads them (platform/wire-facts.md, "Values" and "Malformed requests"): as leniently, and with the same
 * complaints. JSON, or CBOR by content type.
 */

import { Decoder, Encoder } from 'cbor-x';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  parseJsonNumbers,
  stringifyJson,
} from '../../values/json.ts';
import { PayloadFault, type Reply, wholeNumberOf } from './http-reply.ts';
import type { Call } from './http-service.ts';
import { parseLenient } from './lenient-json.ts';
import {
  mapLeaves,
  receivedValue,
  SpelledNumber,
  type StoredValue,
  savedValue,
  spelledNumber,
  unspelled,
  type ValueRules,
} from './stored-value.ts';

export interface TimedValues {
  /** As the device gave it: past the year 9999, or before 1970, is possible. */
  readonly ts: number;
  readonly values: Readonly<Record<string, StoredValue>>;
}

/** A device's reply to an RPC that is no JSON. */
export class RawReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The parser's own limit, and that of RPC replies. */
const MAX_DEPTH = 255;
const MAX_REPLY_DEPTH = 500;
const MAX_SHOWN = 200;
const CBOR = 'application/cbor';

const cborEncoder = (): Encoder => new Encoder({ useRecords: false, mapsAsObjects: true, tagUint8Array: false });

/** A body as a plain value, for everything but telemetry and attributes. @throws PayloadFault when it is malformed. */
export function readDocument(body: Buffer, contentType: string | undefined): JsonValue {
  return unspelled(readWire(body, contentType) as JsonValue);
}

/** Reads a device's reply to an RPC: any text is accepted, and only the caller finds out that it is no JSON. */
export function readReply(body: Buffer, contentType: string | undefined): JsonValue | RawReply {
  const text = body.toString('utf8');
  try {
    return contentType?.startsWith(CBOR) === true
      ? readDocument(body, contentType)
      : parseJson(text, { depth: MAX_REPLY_DEPTH });
  } catch {
    return new RawReply(text);
  }
}

/** Telemetry in any of its three forms; empty for `[]`. @throws PayloadFault when it is malformed or none of the forms. */
export function readTelemetry(
  body: Buffer,
  contentType: string | undefined,
  nowMs: number,
  rules: ValueRules,
): readonly TimedValues[] {
  const wire = readWire(body, contentType);
  if (Array.isArray(wire)) return wire.map((item) => readRecord(item, nowMs, rules));
  return [readRecord(wire, nowMs, rules)];
}

/** Attribute values by key, as a device sends them. @throws PayloadFault for anything but an object. */
export function readAttributes(
  body: Buffer,
  contentType: string | undefined,
  rules: ValueRules,
): Readonly<Record<string, StoredValue>> {
  return readValues(objectOf(readWire(body, contentType)), (item) => savedValue(item, rules));
}

/** Attribute values by key, as people set them: read once, and null is refused. @throws PayloadFault for anything but an object. */
export function readSetAttributes(body: Buffer): Readonly<Record<string, StoredValue>> {
  return readValues(objectOf(readWire(body, undefined)), (item) => {
    if (item === null) throw new PayloadFault("Can't parse value: null");
    return receivedValue(item, { castStrings: true });
  });
}

/** An answer in the format the client accepts. */
export function documentReply(value: JsonValue, accept: string | undefined): Reply {
  if (accept?.startsWith(CBOR) !== true)
    return { status: 200, body: stringifyJson(value), contentType: 'application/json' };
  return { status: 200, body: cborEncoder().encode(unspelled(value)), contentType: CBOR };
}

function readRecord(wire: unknown, nowMs: number, rules: ValueRules): TimedValues {
  const record = objectOf(wire);
  const read = (values: Readonly<Record<string, unknown>>): Record<string, StoredValue> =>
    readValues(values, (item) => savedValue(item, rules));
  if (!Object.hasOwn(record, 'ts') || !Object.hasOwn(record, 'values')) return { ts: nowMs, values: read(record) };
  const ts = readInstant(record.ts);
  if (!isPlainObject(record.values)) throw new PayloadFault('values is no object', { silent: true });
  return { ts, values: read(record.values) };
}

/** A fraction is cut off, and what is past 64 bits wraps. */
function readInstant(wire: unknown): number {
  const source =
    wire instanceof SpelledNumber
      ? wire.source
      : typeof wire === 'bigint' || typeof wire === 'number'
        ? String(wire)
        : wire;
  const whole = typeof source === 'string' ? /^[+-]?\d+(?=$|\.\d*$)/.exec(source)?.[0] : undefined;
  if (whole === undefined) throw new PayloadFault('ts is no number', { silent: true });
  return Number(BigInt.asIntN(64, BigInt(whole)));
}

function readValues(
  wire: Readonly<Record<string, unknown>>,
  read: (item: unknown) => StoredValue | undefined,
): Record<string, StoredValue> {
  const values: Record<string, StoredValue> = {};
  for (const [key, item] of Object.entries(wire)) {
    const value = read(item);
    if (value !== undefined) values[key] = value;
  }
  return values;
}

function readWire(body: Buffer, contentType: string | undefined): unknown {
  try {
    if (contentType?.startsWith(CBOR) === true) {
      return mapLeaves(new Decoder({ useRecords: false, mapsAsObjects: true }).decode(body), (leaf) => leaf ?? null);
    }
  } catch {
    throw new PayloadFault('Malformed payload');
  }
  const text = body.toString('utf8');
  try {
    return parseJsonNumbers(text, spelledNumber, { depth: MAX_DEPTH });
  } catch {
    return readLeniently(text);
  }
}

function readLeniently(text: string): unknown {
  try {
    return parseLenient(text, spelledNumber);
  } catch (error) {
    throw new PayloadFault(error instanceof Error ? error.message : 'Malformed payload');
  }
}

function objectOf(wire: unknown): Readonly<Record<string, unknown>> {
  if (isPlainObject(wire)) return wire;
  throw new PayloadFault(`Can't parse value: ${stringifyJson(wire as JsonValue).slice(0, MAX_SHOWN)}`);
}

function isPlainObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && !(value instanceof SpelledNumber);
}

/** All entities belong to one tenant. */
export const TENANT_ID = '13814000-1dd2-11b2-8080-808080808080';

/** In place of a customer where there is none. */
export const NOBODY_ID = '13814000-1dd2-11b2-8080-808080808080';

/** `{id, entityType}`, the form of every id inside a body; null for none. */
export function entityId(entityType: string, id: string | undefined): JsonObject | null {
  return id === undefined ? null : { entityType, id };
}

/** The id inside an `{id, entityType}`. */
export function idIn(value: JsonValue | undefined): string | undefined {
  return isJsonObject(value) && typeof value.id === 'string' ? value.id : undefined;
}

/** The body as an object. @throws PayloadFault for anything else. */
export function objectIn(call: Call): JsonObject {
  const document = readDocument(call.body, 'application/json');
  if (!isJsonObject(document)) throw new PayloadFault('Required request body is missing');
  return document;
}

/** One page of a list, by `pageSize` and `page`. */
export function page(items: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const pageSize = Math.max(1, wholeNumberOf(query.get('pageSize'), 'pageSize', 'int') || 100);
  const at = Math.max(0, wholeNumberOf(query.get('page'), 'page', 'int'));
  const totalPages = Math.ceil(items.length / pageSize);
  return {
    data: items.slice(at * pageSize, (at + 1) * pageSize),
    totalPages,
    totalElements: items.length,
    hasNext: at + 1 < totalPages,
  };
}
