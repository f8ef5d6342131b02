/**
 * Values as the real server stores and shows them (platform/wire-facts.md, "Values"):
 *
 *   a number's spelling → long, double or text → spelled by the transport, read again by the rule that saves → stored
 *   stored → as devices see it · as people see it, strictly typed or as text
 */
import { isJsonObject, type JsonValue, stringifyJson } from '../../values/json.ts';
import { PayloadFault } from './http-reply.ts';

/** Boolean, string, long (number, or bigint past 2^53), double (number, or SpelledNumber where it is whole), or JSON. */
export type StoredValue = Exclude<JsonValue, null>;

export interface ValueRules {
  /** Strings that look like numbers become numbers; the server's default. Off is its strict mode. */
  readonly castStrings: boolean;
}

/** A number that says more by its spelling than by its value: `5.0` is a double, `0.10` stays so within JSON. Goes into JSON as it is spelled. */
export class SpelledNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.source);
  }
}

const MAX_DECIMALS = 16;
const WHOLE = /^-?\d+$/;
/** Texts that `NumberUtils.isParsable` takes for a number: no exponent, no plus. */
const CASTABLE = /^-?(\d+(\.\d+)?|\.\d+)$/;
const ASTRAL = /[\u{10000}-\u{10ffff}]/gu;

/** A number in its own spelling, as plainly as JavaScript can hold it without losing that. */
export function spelledNumber(source: string): StoredValue {
  const value = Number(source);
  if (String(value) === source) return value;
  return WHOLE.test(source) && !Number.isSafeInteger(value) && BigInt(source).toString() === source
    ? BigInt(source)
    : asStored(source);
}

/** A value on its way from a device: read by the transport, and by the rule that saves it; undefined where it is skipped. */
export function savedValue(wire: unknown, rules: ValueRules): StoredValue | undefined {
  const received = receivedValue(wire, rules);
  if (typeof received === 'object' && !isSpelled(received)) return withoutNulls(received) as StoredValue;
  // The transport spells it for the second reading.
  return receivedValue(isDouble(received) ? new SpelledNumber(javaDouble(received)) : received, rules);
}

/** A value that is read once, as a person's through the REST API. */
export function receivedValue(wire: unknown, rules: ValueRules): StoredValue | undefined {
  if (wire === null || wire === undefined) return undefined;
  if (typeof wire === 'string')
    return rules.castStrings && CASTABLE.test(wire) ? numberFrom(wire, rules) : storable(wire);
  if (typeof wire === 'number' || typeof wire === 'bigint') return numberFrom(String(wire), rules);
  if (wire instanceof SpelledNumber) return numberFrom(wire.source, rules);
  return mapTexts(wire) as StoredValue;
}

/** Returns the form for devices: doubles in Java's spelling, JSON as it was sent. */
export function deviceForm(value: StoredValue): JsonValue {
  return isDouble(value) ? asStored(javaDouble(value)) : value;
}

/** Returns the form for people who ask for strict types: JSON has passed through another parser, which spells its doubles in its own way. */
export function strictForm(value: JsonValue): JsonValue {
  return mapLeaves(value, (leaf) => {
    if (isDouble(leaf)) return asStored(javaDouble(leaf));
    return isSpelled(leaf) && !WHOLE.test(leaf.source) ? asStored(javaDouble(Number(leaf.source))) : leaf;
  }) as JsonValue;
}

/** Returns the form for people by default: text. */
export function plainForm(value: StoredValue): string {
  if (typeof value === 'string') return value;
  return stringifyJson(deviceForm(value));
}

/** Numbers alone, for arithmetic; undefined for everything else. */
export function numberIn(value: StoredValue): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return isSpelled(value) ? Number(value.source) : undefined;
}

/** Without spellings, for formats that have none. */
export function unspelled(value: JsonValue): JsonValue {
  return mapLeaves(value, (leaf) => (isSpelled(leaf) ? Number(leaf.source) : leaf)) as JsonValue;
}

/** JSON text as the REST API writes it: characters beyond the basic plane as two escapes. */
export function escapeAstral(text: string): string {
  return text.replace(ASTRAL, (pair) =>
    [...pair]
      .map(
        (char) =>
          `\\u${char.charCodeAt(0).toString(16).toUpperCase()}\\u${char.charCodeAt(1).toString(16).toUpperCase()}`,
      )
      .join(''),
  );
}

/** Long, double or, for what fits neither, the digits as a string. @throws PayloadFault in strict mode, where the type would change. */
function numberFrom(source: string, rules: ValueRules): StoredValue {
  const decimal = javaDecimal(source);
  if (decimal === undefined) throw new PayloadFault(`Can't parse value: ${source.slice(0, 200)}`);
  const isSimpleDouble = source.includes('.') && !/e/i.test(source);
  const whole = isSimpleDouble ? undefined : wholeOf(decimal);
  if (whole !== undefined && whole === BigInt.asIntN(64, whole))
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  if (whole === undefined && decimal.scale <= MAX_DECIMALS) {
    const value = Number(source) + 0;
    return Number.isInteger(value) ? asStored(javaDouble(value)) : value;
  }
  if (!rules.castStrings) throw new PayloadFault('Big integer values are not supported!');
  return plainString(decimal);
}

function isDouble(value: unknown): value is number {
  return typeof value === 'number' && !Number.isInteger(value);
}

function isSpelled(value: unknown): value is SpelledNumber {
  return value instanceof SpelledNumber;
}

/** `toJSON` makes a number of it wherever it is written. */
function asStored(source: string): StoredValue {
  // Whoever reads it as JSON sees a number: its type there.
  return new SpelledNumber(source) as unknown as StoredValue;
}

/** The database holds no U+0000, and its encoding no half of a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '').replace(/\p{Cs}/gu, '?');
}

function mapTexts(wire: unknown): unknown {
  return mapLeaves(
    wire,
    (leaf) => (typeof leaf === 'string' ? storable(leaf) : leaf),
    (members) => members.map(([key, item]) => [storable(key), item]),
  );
}

/** The transport's own writer leaves out members without a value; items of arrays stay. */
function withoutNulls(value: unknown): unknown {
  return mapLeaves(
    value,
    (leaf) => leaf,
    (members) => members.filter(([, item]) => item !== null),
  );
}

type Members = readonly (readonly [string, unknown])[];

/** The same value with every leaf of it, and the members of every object in it, made into others. */
export function mapLeaves(
  value: unknown,
  leafOf: (leaf: unknown) => unknown,
  membersOf = (members: Members): Members => members,
): unknown {
  const map = (item: unknown): unknown => mapLeaves(item, leafOf, membersOf);
  if (Array.isArray(value)) return value.map(map);
  if (!isJsonObject(value) || isSpelled(value)) return leafOf(value);
  return Object.fromEntries(membersOf(Object.entries(value)).map(([key, item]) => [key, map(item)]));
}

/** Below and from these, `Double.toString` writes an exponent. */
const MIN_PLAIN = 1e-3;
const EXPONENT_FROM = 1e7;
/** Whole doubles below 2^63 are written by a way of their own, which drops digits that say nothing, rounding half up. */
const LONG_BITS = 63;
const SIGNIFICANT_BITS = 53;
const LOG10_OF_2 = Math.log10(2);

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
/** A spelling that would fill the memory. */
const MAX_EXPONENT = 10_000;

/** `Double.toString` of a finite number. */
export function javaDouble(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size >= MIN_PLAIN && size < EXPONENT_FROM) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const digits = Number.isInteger(value) && size < 2 ** LONG_BITS ? longMantissa(value) : mantissa;
  return `${digits.includes('.') ? digits : `${digits}.0`}E${Number(exponent)}`;
}

/** A number as `BigDecimal` has it: `unscaled` · 10^-`scale`. */
export interface JavaDecimal {
  readonly unscaled: bigint;
  readonly scale: number;
}

/** Undefined for what is no decimal, or one of absurd length. */
export function javaDecimal(text: string): JavaDecimal | undefined {
  const parts = DECIMAL.exec(text);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts ?? [];
  if (parts === null || whole + fraction === '' || Math.abs(Number(exponent)) > MAX_EXPONENT) return undefined;
  const unscaled = BigInt(whole + fraction);
  return { unscaled: sign === '-' ? -unscaled : unscaled, scale: fraction.length - Number(exponent) };
}

/** The integer that a decimal is, however it is spelled; undefined for a fraction. */
export function wholeOf({ unscaled, scale }: JavaDecimal): bigint | undefined {
  if (scale <= 0) return unscaled * 10n ** BigInt(-scale);
  const power = 10n ** BigInt(scale);
  return unscaled % power === 0n ? unscaled / power : undefined;
}

/** `BigDecimal.toPlainString`. */
export function plainString({ unscaled, scale }: JavaDecimal): string {
  if (scale <= 0) return (unscaled * 10n ** BigInt(-scale)).toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function longMantissa(value: number): string {
  let size = BigInt(Math.abs(value));
  const spareBits = size.toString(2).length - SIGNIFICANT_BITS - 2;
  const spare = spareBits > 1 ? Math.floor(spareBits * LOG10_OF_2) : 0;
  const power = 10n ** BigInt(spare);
  size = size / power + (spare > 0 && size % power >= power / 2n ? 1n : 0n);
  const digits = size.toString().replace(/0+$/, '');
  return `${value < 0 ? '-' : ''}${digits.slice(0, 1)}${digits.length > 1 ? `.${digits.slice(1)}` : ''}`;
}
