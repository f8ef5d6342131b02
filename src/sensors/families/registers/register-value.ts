/** Meaning of the number in a register, in Modbus tables and in chips: its own mark of none, its bits, and then the chain of conversion. */
import { meansBits } from '../../../config/fields/conversion.ts';
import { isNumeric } from '../../../values/json.ts';
import { bitField, type NumberWidth } from '../../conversion/bit-field.ts';
import { convertNumber, convertWord, isNumber, type NumberRules } from '../../conversion/convert-value.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';

type RegisterContent = boolean | number | bigint | string;

export interface RegisterMeaning extends NumberRules {
  /** The raw number that says that there is none. */
  readonly noValue?: number | undefined;
}

/**
 * The value of a register's content. @param width of its number, in which `noValue` is compared: 0x8000 and -32768 are one in 16 bits; without bits
 * for floats. @throws AgentError `sensors/no-value` for the mark of none, `sensors/bad-reading` for digits that are none, `sensors/out-of-range` outside
 * min and max (all retry).
 */
export function registerValue(
  key: string,
  raw: RegisterContent,
  meaning: RegisterMeaning,
  width: NumberWidth,
): RegisterContent {
  if (!isNumeric(raw)) return convertWord(key, raw, meaning);
  return convertNumber(key, registerNumber(key, raw, meaning, width), meaning);
}

/** The number in a register before its scale. @throws AgentError `sensors/no-value`, `sensors/bad-reading` (both retry). */
export function registerNumber(
  key: string,
  raw: number | bigint,
  meaning: RegisterMeaning,
  width: NumberWidth,
): number | bigint {
  const { noValue } = meaning;
  if (noValue !== undefined && isSame(raw, noValue, width.bits))
    throw sensorFault('no-value', `the register says that there is no ${key}`);
  return meansBits(meaning) ? bitField(key, raw, meaning, width) : raw;
}

function isSame(raw: number | bigint, noValue: number, bits: number | undefined): boolean {
  if (bits === undefined || (typeof raw === 'number' && !Number.isInteger(raw))) return isNumber(raw, noValue);
  return BigInt.asUintN(bits, BigInt(raw)) === BigInt.asUintN(bits, BigInt(noValue));
}
