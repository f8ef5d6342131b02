/** Numbers in text as devices print them: blanks after the sign, a decimal comma, other bases than ten. */
import type { ConversionConfig } from '../../config/fields/conversion.ts';
import { narrowed } from './bit-field.ts';

const NUMBER = /^([-+]?)\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)$/;
/** In each base, what may stand before its digits, the digits, and how JavaScript marks it. Up to 64 bits. */
const WHOLE = {
  2: { form: /^([-+]?)\s*(?:0b)?([01]{1,64})$/i, mark: '0b' },
  8: { form: /^([-+]?)\s*(?:0o)?([0-7]{1,21})$/i, mark: '0o' },
  10: { form: /^([-+]?)\s*(\d{1,19})$/, mark: '' },
  16: { form: /^([-+]?)\s*(?:0x)?([\da-f]{1,16})$/i, mark: '0x' },
} as const;

/** The number that a text is; undefined for any other text. Whole numbers past 2^53 keep every digit. */
export function numberOfText(
  text: string,
  { decimal, radix }: Pick<ConversionConfig, 'decimal' | 'radix'> = {},
): number | bigint | undefined {
  const trimmed = text.trim();
  if (radix !== undefined) {
    const { form, mark } = WHOLE[radix];
    const [, sign, digits] = form.exec(trimmed) ?? [];
    return digits === undefined ? undefined : narrowed(BigInt(`${mark}${digits}`) * (sign === '-' ? -1n : 1n));
  }
  // A point beside a decimal comma would group thousands, or be the sign after all.
  if (decimal === ',' && trimmed.includes('.')) return undefined;
  const [, sign = '', digits] = NUMBER.exec(decimal === ',' ? trimmed.replace(',', '.') : trimmed) ?? [];
  if (digits === undefined) return undefined;
  const number = Number(`${sign}${digits}`);
  if (Number.isSafeInteger(number) || !/^\d+$/.test(digits)) return number;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
}
