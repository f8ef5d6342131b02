/** Scale and offset in decimal, as people write them: 231 × 0.1 is 23.1, without the noise of binary fractions. */

export interface Scaling {
  readonly scale?: number;
  readonly offset?: number;
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
export function scaled(raw: number | bigint, { scale = 1, offset = 0 }: Scaling): number | bigint {
  if (scale === 1 && offset === 0) return raw;
  if (typeof raw === 'number' && !Number.isSafeInteger(raw))
    return Number((raw * scale + offset).toPrecision(CERTAIN_DIGITS));
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
