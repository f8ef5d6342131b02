/**
 * What may go on the wire and how it is spelled there (wire-facts.md, "Values"). The server accepts some keys and values with a 200
 * and loses them on saving, so they are refused here, where someone can still be told.
 */
import { type JsonValue, stringifyJson } from '../host/json.ts';

/** Longest key the server's database takes, in characters. */
const LONGEST_KEY = 255;

/** The server runs keys through a sanitiser that rejects anything that opens like a tag. */
const MARKUP = /<[A-Za-z/!?]/;

/** More digits than this after the point, and the server stores a string. */
const MOST_DECIMALS = 16;

const LEAST_INT64 = -(2n ** 63n);
const GREATEST_INT64 = 2n ** 63n - 1n;

const NUMERIC = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** Why the server would lose a value with this key, or undefined when it would not. */
export function keyFault(key: string): string | undefined {
  if (key.trim() === '') return 'the key is blank';
  if (key.length > LONGEST_KEY) return `the key has ${key.length} characters, at most ${LONGEST_KEY} are stored`;
  if (MARKUP.test(key)) return 'the key holds markup';
  return undefined;
}

/** Why the server would lose this value, or undefined when it would not. */
export function valueFault(value: JsonValue): string | undefined {
  if (value === null) return 'null is not stored';
  if (typeof value === 'number' && !Number.isFinite(value)) return `${value} is not a number that can be sent`;
  return undefined;
}

/** Whether a server with type casting on (the default) would store this string as a number. */
export function looksNumeric(text: string): boolean {
  return NUMERIC.test(text);
}

/**
 * The JSON text of a telemetry or attribute value. Numbers never carry an exponent nor more than 16 decimals; a double past 2^53 ends in
 * `.0`, so that it stays a double; an integer past int64 becomes a string of digits, as the server itself would make of it.
 */
export function wireValue(value: JsonValue): string {
  if (typeof value === 'number') return wireNumber(value);
  if (typeof value === 'bigint') return fitsInt64(value) ? value.toString() : `"${value}"`;
  if (typeof value === 'object' && value !== null) return stringifyJson(value);
  return JSON.stringify(value);
}

export function fitsInt64(value: bigint): boolean {
  return value >= LEAST_INT64 && value <= GREATEST_INT64;
}

function wireNumber(value: number): string {
  if (Number.isInteger(value)) return Number.isSafeInteger(value) ? String(value) : `${BigInt(value)}.0`;
  if (!Number.isFinite(value)) return 'null';
  const shortest = String(value);
  const point = shortest.indexOf('.');
  if (!shortest.includes('e') && shortest.length - point - 1 <= MOST_DECIMALS) return shortest;
  const rounded = value.toFixed(MOST_DECIMALS).replace(/0+$/, '');
  return rounded.endsWith('.') ? `${rounded}0` : rounded;
}
