/** Meaning of the number in a register, in Modbus tables and in chips: its scale, its own mark of none, and where it stops being credible. */
import { sensorFault, withinRange } from '../../kind/sensor-fault.ts';

export interface RegisterMeaning extends Scaling {
  /** The raw number that says that there is none. */
  readonly noValue?: number;
  readonly min?: number;
  readonly max?: number;
}

/**
 * The value of a raw number. @param bits its width, in which `noValue` is compared: 0x8000 and -32768 are one in 16 bits; undefined for floats.
 * @throws AgentError `sensors/no-value` for the mark of none, `sensors/out-of-range` outside min and max (both retry).
 */
export function registerValue(key: string, raw: number | bigint, bits: number | undefined, meaning: RegisterMeaning): number | bigint {
  const { noValue, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = meaning;
  if (noValue !== undefined && isSame(raw, noValue, bits)) throw sensorFault('no-value', `the register says that there is no ${key}`);
  const value = scaled(raw, meaning);
  withinRange(key, Number(value), [min, max]);
  return value;
}

function isSame(raw: number | bigint, noValue: number, bits: number | undefined): boolean {
  if (bits === undefined || (typeof raw === 'number' && !Number.isInteger(raw))) return Number(raw) === noValue;
  return BigInt.asUintN(bits, BigInt(raw)) === BigInt.asUintN(bits, BigInt(noValue));
}

export interface Scaling {
  readonly scale: number;
  readonly offset: number;
}

/** Decimal digits that a double holds for certain; further ones are noise of binary fractions. */
const CERTAIN_DIGITS = 15;
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/;

/** digits × 10^exponent */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Whole results past 2^53 are bigint, all others the nearest number. */
export function scaled(raw: number | bigint, { scale, offset }: Scaling): number | bigint {
  if (scale === 1 && offset === 0) return raw;
  if (typeof raw === 'number' && !Number.isSafeInteger(raw)) return Number((raw * scale + offset).toPrecision(CERTAIN_DIGITS));
  const factor = decimalOf(scale);
  return numberOf(sum({ digits: BigInt(raw) * factor.digits, exponent: factor.exponent }, decimalOf(offset)));
}

/** The shortest decimal that means this number, which is how it was written. */
function decimalOf(value: number): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] = DECIMAL.exec(String(value)) ?? [];
  return { digits: BigInt(`${sign}${whole}${fraction}`), exponent: Number(power) - fraction.length };
}

function sum(one: Decimal, other: Decimal): Decimal {
  const exponent = Math.min(one.exponent, other.exponent);
  const digitsAt = (decimal: Decimal): bigint => decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
  return { digits: digitsAt(one) + digitsAt(other), exponent };
}

function numberOf({ digits, exponent }: Decimal): number | bigint {
  const divisor = 10n ** BigInt(Math.max(0, -exponent));
  if (digits % divisor !== 0n) return Number(`${digits}e${exponent}`);
  const whole = (digits / divisor) * 10n ** BigInt(Math.max(0, exponent));
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}
