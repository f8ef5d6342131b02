/**
 * Payloads as the real platform's transport reads them (wire-facts.md, "Values"): the same types, the same silent losses, the same
 * complaints. JSON, or CBOR by content type.
 */
import { Decoder, Encoder } from 'cbor-x';
import { isJsonObject, type JsonObject, type JsonValue, parseJsonNumbers, stringifyJson } from '../host/json.ts';
import type { Reply } from './http-reply.ts';

/** Boolean, string, long (number, or bigint past 2^53), double (number), or JSON. */
export type StoredValue = Exclude<JsonValue, null>;

export interface TimedValues {
  readonly ts: number;
  readonly values: Readonly<Record<string, StoredValue>>;
}

/** A payload that the platform answers with 500 and this text. */
export class PayloadFault extends Error {}

export interface ValueRules {
  /** Strings that look like numbers become numbers; the server's default. Off is its strict mode. */
  readonly castStrings: boolean;
}

/** A number still in its own spelling: the type depends on it. */
class WireNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

const LONGEST_KEY = 255;
const MARKUP = /<[A-Za-z/!?]/;
const CASTABLE = /^-?(\d+(\.\d+)?|\.\d+)$/;
const MOST_DECIMALS = 16;
const CBOR = 'application/cbor';

const cborEncoder = (): Encoder => new Encoder({ useRecords: false, mapsAsObjects: true, tagUint8Array: false });

/** A body as a plain value, for everything but telemetry and attributes. @throws PayloadFault when it is malformed. */
export function readDocument(body: Buffer, contentType: string | undefined): JsonValue {
  return plain(readWire(body, contentType)) as JsonValue;
}

/** Telemetry in any of its three forms; empty for `[]`. @throws PayloadFault when it is malformed or none of the forms. */
export function readTelemetry(body: Buffer, contentType: string | undefined, nowMs: number, rules: ValueRules): readonly TimedValues[] {
  const wire = readWire(body, contentType);
  if (Array.isArray(wire)) return wire.map((item) => readRecord(item, nowMs, rules));
  return [readRecord(wire, nowMs, rules)];
}

/** Attribute values by key. @throws PayloadFault for anything but an object. */
export function readAttributes(body: Buffer, contentType: string | undefined, rules: ValueRules): Readonly<Record<string, StoredValue>> {
  const wire = readWire(body, contentType);
  if (!isPlainObject(wire)) throw new PayloadFault(`Can't parse value: ${stringifyJson(plain(wire) as JsonValue).slice(0, 200)}`);
  return readValues(wire, rules);
}

/** An answer in the format the client accepts. */
export function documentReply(value: JsonValue, accept: string | undefined): Reply {
  if (accept?.startsWith(CBOR) !== true) return { status: 200, body: stringifyJson(value), contentType: 'application/json' };
  return { status: 200, body: cborEncoder().encode(value), contentType: CBOR };
}

function readRecord(wire: unknown, nowMs: number, rules: ValueRules): TimedValues {
  if (!isPlainObject(wire)) throw new PayloadFault(`Can't parse value: ${stringifyJson(plain(wire) as JsonValue).slice(0, 200)}`);
  if (!Object.hasOwn(wire, 'ts') || !Object.hasOwn(wire, 'values')) return { ts: nowMs, values: readValues(wire, rules) };
  const ts = Number(plain(wire.ts));
  if (!Number.isSafeInteger(ts)) throw new PayloadFault('Invalid timestamp');
  if (!isPlainObject(wire.values)) throw new PayloadFault("Can't parse values: not a JSON object");
  return { ts, values: readValues(wire.values, rules) };
}

/** Values that will be kept: null is skipped, and a bad key is accepted and then lost. */
function readValues(wire: Readonly<Record<string, unknown>>, rules: ValueRules): Record<string, StoredValue> {
  const values: Record<string, StoredValue> = {};
  for (const [key, item] of Object.entries(wire)) {
    if (item === null) continue;
    const value = readValue(item, rules);
    if (key.trim() !== '' && key.length <= LONGEST_KEY && !MARKUP.test(key)) values[key] = value;
  }
  return values;
}

function readValue(wire: unknown, rules: ValueRules): StoredValue {
  if (wire instanceof WireNumber) return readNumber(wire.source, rules);
  if (typeof wire === 'string') return rules.castStrings && CASTABLE.test(wire) ? readNumber(wire, rules) : wire;
  return plain(wire) as StoredValue;
}

/** Long, double or, for what fits neither, the digits as a string; a whole number without point or exponent is a long. */
function readNumber(source: string, rules: ValueRules): StoredValue {
  const simpleDouble = source.includes('.') && !/e/i.test(source);
  const whole = simpleDouble ? undefined : wholeOf(source);
  if (whole !== undefined) {
    if (whole === BigInt.asIntN(64, whole)) return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
    if (!rules.castStrings) throw new PayloadFault('Big integer values are not supported!');
    return whole.toString();
  }
  if (decimalsOf(source) <= MOST_DECIMALS) return Number(source);
  if (!rules.castStrings) throw new PayloadFault('Double values with more than 16 decimals are not supported!');
  return source;
}

/** The integer that a spelling means (`5`, `5e3`), or undefined for a fraction. */
function wholeOf(source: string): bigint | undefined {
  const [mantissa = '', exponent] = source.toLowerCase().split('e');
  if (exponent === undefined) return mantissa.includes('.') ? undefined : BigInt(mantissa);
  const [digits = '', fraction = ''] = mantissa.split('.');
  const shift = Number(exponent) - fraction.length;
  if (shift > 400) throw new PayloadFault('Number out of range');
  if (shift >= 0) return BigInt(digits + fraction) * 10n ** BigInt(shift);
  return undefined;
}

function decimalsOf(source: string): number {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e');
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent));
}

function readWire(body: Buffer, contentType: string | undefined): unknown {
  try {
    if (contentType?.startsWith(CBOR) === true) {
      return fromCbor(new Decoder({ useRecords: false, mapsAsObjects: true }).decode(body));
    }
    return parseJsonNumbers(body.toString('utf8'), (source) => new WireNumber(source), { depth: 512 });
  } catch {
    throw new PayloadFault('Malformed payload');
  }
}

/** In CBOR integer and float are told apart by the library's answer only past 32 bits; for whole numbers it makes no difference. */
function fromCbor(value: unknown): unknown {
  if (typeof value === 'number') return new WireNumber(Number.isSafeInteger(value) ? String(value) : decimalText(value));
  if (typeof value === 'bigint') return new WireNumber(value.toString());
  if (Array.isArray(value)) return value.map(fromCbor);
  if (!isPlainObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromCbor(item)]));
}

/** A double without exponent and within 16 decimals, as CBOR's doubles need no rounding. */
function decimalText(value: number): string {
  return Number.isInteger(value) ? `${BigInt(value)}.0` : value.toFixed(MOST_DECIMALS);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isJsonObject(value) && !(value instanceof WireNumber);
}

/** Numbers inside of JSON values and documents: exact integers, doubles otherwise. */
function plain(value: unknown): unknown {
  if (value instanceof WireNumber) {
    const number = Number(value.source);
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(value.source) ? number : BigInt(value.source);
  }
  if (Array.isArray(value)) return value.map(plain);
  if (!isPlainObject(value)) return value;
  const entries: [string, unknown][] = Object.entries(value).map(([key, item]) => [key, plain(item)]);
  return Object.fromEntries(entries) as JsonObject;
}
