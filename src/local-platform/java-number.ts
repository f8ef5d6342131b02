/**
 * How the real server, a Java program (JDK 17), spells doubles and reads decimals: what is stored depends on it, as each value is spelled and
 * read again on its way to the database (platform/wire-facts.md, "Values").
 */

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
