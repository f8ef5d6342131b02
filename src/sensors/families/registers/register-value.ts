/** Meaning of the number in a register, in Modbus tables and in chips: its scale, its own mark of none, and where it stops being credible. */
import { sensorFault, withinRange } from '../../kind/sensor-fault.ts';
import { type Scaling, scaled } from './scaled.ts';

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
