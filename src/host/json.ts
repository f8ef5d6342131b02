/**
 * JSON that does not harm 64-bit integers: a whole number past 2^53 is parsed as a bigint and written back digit for digit.
 * Input is bounded in size and depth before it is parsed.
 */
import { AgentError } from '../errors.ts';

export type JsonPrimitive = null | boolean | number | bigint | string;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export interface JsonLimits {
  /** Longest text, in UTF-16 units. Default 16 Mi, the platform's own body limit. */
  readonly length?: number;
  /** Deepest nesting of objects and arrays. Default 32. */
  readonly depth?: number;
}

declare global {
  interface JSON {
    /** In the runtime, not yet in TypeScript's library. */
    rawJSON(text: string): unknown;
  }
}

const DEFAULT_LENGTH = 16 * 1024 * 1024;
const DEFAULT_DEPTH = 32;
const WHOLE_NUMBER = /^-?\d+$/;
/** What a whole number past 2^53 looks like, wherever in a text. */
const LONG_NUMBER = /\d{16}/;

/**
 * Parses JSON text; whole numbers that a double cannot hold become bigint. `__proto__` keys are dropped.
 * @throws AgentError `json/too-large`, `json/too-deep` or `json/malformed` (drop).
 */
export function parseJson(text: string, limits: JsonLimits = {}): JsonValue {
  checkBounds(text, limits);
  try {
    return JSON.parse(text, revive) as JsonValue;
  } catch (cause) {
    throw new AgentError('json/malformed', 'not JSON', { recovery: 'drop', cause });
  }
}

/**
 * Parses JSON text and makes every number with `number`, which is given the number's own text: for readers to whom `20.0` is not `20`.
 * @throws AgentError as `parseJson`.
 */
export function parseJsonNumbers(text: string, number: (source: string) => unknown, limits: JsonLimits = {}): unknown {
  checkBounds(text, limits);
  const reviveWith = (key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    if (key === '__proto__') return undefined;
    return typeof value === 'number' ? number(context?.source ?? String(value)) : value;
  };
  try {
    return JSON.parse(text, reviveWith);
  } catch (cause) {
    throw new AgentError('json/malformed', 'not JSON', { recovery: 'drop', cause });
  }
}

/**
 * Writes JSON; a bigint as a bare whole number, a whole double past 2^53 with its point, so that each comes back as what it was. NaN and
 * infinities become null, as JSON has no word for them.
 */
export function stringifyJson(value: JsonValue): string {
  try {
    const text = JSON.stringify(value);
    if (!LONG_NUMBER.test(text)) return text;
  } catch {
    // A bigint, which JSON.stringify refuses.
  }
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return JSON.rawJSON(item.toString());
    if (typeof item === 'number' && Number.isInteger(item) && !Number.isSafeInteger(item)) return JSON.rawJSON(`${BigInt(item)}.0`);
    return item;
  });
}

/** Whether a parsed value is an object, and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two values are the same; the order of an object's keys does not count, and 5n equals 5. */
export function jsonEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') return isNumeric(a) && isNumeric(b) && a <= b && a >= b;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index] as JsonValue))
    );
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key] as JsonValue, b[key] as JsonValue))
  );
}

function checkBounds(text: string, limits: JsonLimits): void {
  const length = limits.length ?? DEFAULT_LENGTH;
  if (text.length > length)
    throw new AgentError('json/too-large', `JSON of ${text.length} characters, at most ${length} are taken`, { recovery: 'drop' });
  const depth = limits.depth ?? DEFAULT_DEPTH;
  if (depthOf(text) > depth) throw new AgentError('json/too-deep', `JSON nested deeper than ${depth} levels`, { recovery: 'drop' });
}

function isNumeric(value: JsonValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function revive(this: unknown, key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (key === '__proto__') return undefined;
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && WHOLE_NUMBER.test(source) ? BigInt(source) : value;
}

/** Counts brackets outside strings; the reviver recurses, so depth must be known before it runs. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
}
