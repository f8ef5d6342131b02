/**
 * JSON that does not harm 64-bit integers: a whole number past 2^53 is parsed as a bigint and written back digit for digit.
 * Input is bounded in size, depth, values and digits before it is parsed: a small board has 64 MB of heap, and a parsed value can take a
 * hundred times the room of its text.
 */
import { AgentError } from '../errors/agent-error.ts';

export type JsonPrimitive = null | boolean | number | bigint | string;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
/** A member that is undefined is not written. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Type that is written as JSON without a loss: interfaces of such values too, though they have no index signature. */
export type Jsonable<T> = T extends JsonValue | undefined
  ? T
  : T extends (...parameters: never[]) => unknown
    ? never
    : T extends object
      ? { readonly [Key in keyof T]: Jsonable<T[Key]> }
      : never;

/** The same value, known to be one. */
export function jsonOf<T extends object>(
  value: T & Jsonable<T>,
): T extends readonly unknown[] ? readonly JsonValue[] : JsonObject {
  // Each of its members was looked at; what is missing is only that an interface is not assignable to an index signature.
  return value as unknown as T extends readonly unknown[] ? readonly JsonValue[] : JsonObject;
}

export interface JsonLimits {
  /** Longest text, in UTF-16 units. Default 16 Mi, the platform's own body limit. */
  readonly length?: number;
  /** Deepest nesting of objects and arrays. Default 32. */
  readonly depth?: number;
  /** How many values, those in objects and arrays among them. Default 100,000. */
  readonly values?: number;
  /** Longest run of digits. Default 400: the largest double has 309, and making a bigint of millions takes seconds. */
  readonly digits?: number;
}

/**
 * For what this program itself has written, and had in memory when it did: a value that was taken must come back, or it takes with it
 * whatever lies in the same file. Only the stack bounds it.
 */
export const OWN_JSON: JsonLimits = {
  length: 1 << 29,
  depth: 5_000,
  values: Number.POSITIVE_INFINITY,
  digits: Number.POSITIVE_INFINITY,
};

declare global {
  interface JSON {
    /** In the runtime, not yet in TypeScript's library. */
    rawJSON(text: string): unknown;
  }
}

const DEFAULT_LENGTH = 16 * 1024 * 1024;
const DEFAULT_DEPTH = 32;
const DEFAULT_VALUES = 100_000;
const DEFAULT_DIGITS = 400;
/** Texts that the plain parser would get wrong: long whole numbers, and a key that is no data, however it is spelt. */
const NEEDS_CARE = /\d{16}|__proto__|\\u/;
const WHOLE_NUMBER = /^-?\d+$/;
/** Whole number past 2^53, wherever in a text. */
const LONG_NUMBER = /\d{16}/;

/**
 * Parses JSON text; whole numbers that a double cannot hold become bigint. `__proto__` keys are dropped.
 * @throws AgentError `json/too-large`, `json/too-deep` or `json/malformed` (drop).
 */
export function parseJson(text: string, limits: JsonLimits = {}): JsonValue {
  // Revivers take some 300 bytes for each value while they run.
  return parsed(text, limits, NEEDS_CARE.test(text) ? revive : undefined) as JsonValue;
}

/**
 * Parses JSON text and makes every number with `number`, which is given the number's own text: for readers to whom `20.0` is not `20`.
 * @throws AgentError as `parseJson`.
 */
export function parseJsonNumbers(text: string, number: (source: string) => unknown, limits: JsonLimits = {}): unknown {
  return parsed(text, limits, (key, value, context) => {
    if (key === '__proto__') return undefined;
    return typeof value === 'number' ? number(context?.source ?? String(value)) : value;
  });
}

/**
 * Writes JSON; a bigint as a bare whole number, a whole double past 2^53 with its point, so that each comes back as what it was. NaN and
 * infinities become null, as JSON has no such numbers.
 */
export function stringifyJson<T>(value: T & Jsonable<T>): string {
  try {
    const text = JSON.stringify(value);
    if (!LONG_NUMBER.test(text)) return text;
  } catch {
    // A bigint, which JSON.stringify refuses.
  }
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return JSON.rawJSON(item.toString());
    if (typeof item === 'number' && Number.isInteger(item) && !Number.isSafeInteger(item))
      return JSON.rawJSON(`${BigInt(item)}.0`);
    return item;
  });
}

/** True when a parsed value is an object, and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True when two values are the same; the order of an object's keys does not count, and 5n equals 5. */
export function jsonEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') return isNumeric(a) && isNumeric(b) && a <= b && a >= b;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => jsonEqual(item, b[index] as JsonValue))
    );
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = writtenKeys(a);
  return (
    keys.length === writtenKeys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && b[key] !== undefined && jsonEqual(a[key] as JsonValue, b[key]))
  );
}

function writtenKeys(object: JsonObject): readonly string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

function parsed(text: string, limits: JsonLimits, reviver: Reviver | undefined): unknown {
  checkBounds(text, limits);
  try {
    return JSON.parse(text, reviver);
  } catch (cause) {
    throw refused('malformed', 'not JSON', cause);
  }
}

function checkBounds(text: string, limits: JsonLimits): void {
  const { length = DEFAULT_LENGTH, depth = DEFAULT_DEPTH, values = DEFAULT_VALUES, digits = DEFAULT_DIGITS } = limits;
  if (text.length > length)
    throw refused('too-large', `JSON of ${text.length} characters, at most ${length} are taken`);
  const found = shapeOf(text);
  if (found.depth > depth) throw refused('too-deep', `JSON nested deeper than ${depth} levels`);
  if (found.values > values) throw refused('too-large', `JSON of more than ${values} values`);
  if (found.digits > digits) throw refused('too-large', `JSON with a number of more than ${digits} digits`);
}

function refused(fault: 'malformed' | 'too-large' | 'too-deep', why: string, cause?: unknown): AgentError {
  return new AgentError(`json/${fault}`, why, { recovery: 'drop', cause });
}

export function isNumeric(value: JsonValue | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function revive(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (key === '__proto__') return undefined;
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && WHOLE_NUMBER.test(source) ? BigInt(source) : value;
}

/** Looks at what stands outside strings. The reviver recurses, so depth must be known before it runs. */
function shapeOf(text: string): { readonly depth: number; readonly values: number; readonly digits: number } {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  // Each comma is followed by a value, and each bracket may hold one.
  let values = 1;
  let digits = 0;
  let maxDigits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
      continue;
    }
    if (code >= 0x30 && code <= 0x39) {
      digits += 1;
      if (digits > maxDigits) maxDigits = digits;
      continue;
    }
    digits = 0;
    if (code === 0x22) inString = true;
    else if (code === 0x2c) values += 1;
    else if (code === 0x7b || code === 0x5b) {
      values += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return { depth: deepest, values, digits: maxDigits };
}
