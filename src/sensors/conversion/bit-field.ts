/** The bits of a whole number that are the value: a byte, a mask, a shift, a sign of its own, decimal digits in four bits each. */
import type { BitWords } from '../../config/fields/conversion.ts';
import { sensorFault } from '../kind/sensor-fault.ts';

export interface NumberWidth {
  readonly bits?: number | undefined;
  /** Two's complement. */
  readonly isSigned?: boolean;
}

/** Width of a number of which nobody says one: bytes are of a word. */
const [WORD_BITS, MAX_BITS] = [16, 64];

/** @throws AgentError `sensors/bad-reading` (retry) for a fraction, for what its bits cannot hold, and for digits that are none. */
export function bitField(
  key: string,
  raw: number | bigint,
  rules: BitWords,
  { bits, isSigned = false }: NumberWidth,
): number | bigint {
  if (typeof raw === 'number' && !Number.isSafeInteger(raw))
    throw sensorFault('bad-reading', `${key} ${raw} is no whole number`);
  const { bytes, mask, shift = 0, signMagnitude = false, bcd = false } = rules;
  let width = bits ?? (bytes === undefined ? MAX_BITS : WORD_BITS);
  const given = BigInt(raw);
  if (given >> BigInt(width) !== 0n && given >> BigInt(width - 1) !== -1n)
    throw sensorFault('bad-reading', `${key} ${raw} does not fit into ${width} bits`);
  let field = BigInt.asUintN(width, given);
  if (bytes !== undefined) {
    field = bytes === 'low' ? field & 0xffn : field >> BigInt(width - 8);
    width = 8;
  }
  if (mask !== undefined) {
    field &= BigInt(mask);
    width = Math.min(width, mask.toString(2).length);
  }
  field >>= BigInt(shift);
  width -= shift;
  if (isSigned && !signMagnitude) field = BigInt.asIntN(width, field);
  const isNegative = signMagnitude && field >> BigInt(width - 1) === 1n;
  if (isNegative) field = BigInt.asUintN(width - 1, field);
  if (bcd) field = decimalDigits(key, field);
  return narrowed(isNegative ? -field : field);
}

function decimalDigits(key: string, field: bigint): bigint {
  const digits = field.toString(16);
  if (/^\d+$/.test(digits)) return BigInt(digits);
  throw sensorFault('bad-reading', `${key} 0x${digits} is no BCD number`);
}

/** Whole numbers past 2^53 stay bigint. */
export function narrowed(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
