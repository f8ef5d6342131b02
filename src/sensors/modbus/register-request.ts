/** One request to a Modbus unit, and what its answer says of each register. */
import { modbusWidth } from '../../config/fields/registers.ts';
import type { ModbusLink } from '../../hardware/modbus-port.ts';
import { decodeModbus } from '../../hardware/modbus-values.ts';
import { registerValue } from '../families/registers/register-value.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading } from '../kind/sensor.ts';
import type { ModbusRegister } from './definition.ts';
import { type PollingGroup, type Registers, registerOf } from './polling-groups.ts';

/** Unit that is asked. */
interface Unit {
  readonly link: ModbusLink;
  readonly unitId: number;
  readonly registers: Registers;
}

/** @throws AgentError `hardware/modbus-exception`, `hardware/modbus-no-answer`, `hardware/modbus-bad-answer`, `hardware/deadline`; of the port. */
export async function request(unit: Unit, group: PollingGroup, signal: AbortSignal): Promise<readonly Outcome[]> {
  return outcomesOf(group, unit, await readRaw(unit, group, signal));
}

/** @throws AgentError `hardware/modbus-no-number`, `sensors/no-value`, `sensors/out-of-range` (all retry). */
export function readingOf(key: string, register: ModbusRegister, words: readonly number[]): Reading {
  const { unit, type } = register;
  const raw = decodeModbus(words, register);
  const bits = type.startsWith('float') ? undefined : 16 * words.length;
  const value = typeof raw === 'number' || typeof raw === 'bigint' ? registerValue(key, raw, bits, register) : raw;
  return { key, value, ...(unit !== undefined && { unit }) };
}

/** Registers as numbers, bits as booleans. */
async function readRaw(
  { link, unitId }: Unit,
  { table, ...range }: PollingGroup,
  signal: AbortSignal,
): Promise<readonly (number | boolean)[]> {
  return table === 'coil' || table === 'discrete'
    ? await link.readBits(unitId, { ...range, table }, signal)
    : await link.readRegisters(unitId, { ...range, table }, signal);
}

function outcomesOf({ address, keys }: PollingGroup, { registers }: Unit, raw: readonly (number | boolean)[]): readonly Outcome[] {
  return keys.map((key) => {
    const register = registerOf(registers, key);
    const from = register.address - address;
    const words = raw.slice(from, from + modbusWidth(register));
    return outcomeOf(key, () => (typeof words[0] === 'boolean' ? { key, value: words[0] } : readingOf(key, register, words.map(Number))));
  });
}
