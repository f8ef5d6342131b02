/** Which registers of a Modbus unit are asked for together, and what the answer says of each. */
import { MAX_COUNT, modbusWidth } from '../../config/fields/registers.ts';
import type { ModbusLink, ModbusTable, RegisterRange } from '../../hardware/modbus-port.ts';
import { decodeModbus } from '../../hardware/modbus-values.ts';
import { isNumeric } from '../../values/json.ts';
import { registerNumber, registerValue } from '../families/registers/register-value.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading } from '../kind/sensor.ts';
import type { ModbusRegister } from './definition.ts';

/** By key. */
export type Registers = Readonly<Record<string, ModbusRegister>>;

/** One request and the keys that are read from its answer. */
export interface PollingGroup extends RegisterRange {
  readonly keys: readonly string[];
  /** Registers that are told apart: several keys may be of one, as bits are. */
  readonly places: number;
}

/** Registers in as few requests as maxGap allows. @param alone keys that share no request with those of another register. */
export function pollingGroups(
  registers: Registers,
  maxGap: number,
  alone: ReadonlySet<string> = new Set(),
): readonly PollingGroup[] {
  const sorted = Object.entries(registers).sort(
    ([, a], [, b]) => a.table.localeCompare(b.table) || a.address - b.address || modbusWidth(a) - modbusWidth(b),
  );
  const groups: { table: ModbusTable; address: number; count: number; keys: string[]; places: number }[] = [];
  let before: ModbusRegister | undefined;
  for (const [key, register] of sorted) {
    const { table, address } = register;
    const end = address + modbusWidth(register);
    const last = groups.at(-1);
    const isSame = before !== undefined && isSamePlace(before, register);
    const isApart = !isSame && (alone.has(key) || alone.has(last?.keys[0] ?? ''));
    before = register;
    if (
      last?.table === table &&
      !isApart &&
      address - (last.address + last.count) <= maxGap &&
      end - last.address <= MAX_COUNT[table]
    ) {
      last.count = Math.max(last.count, end - last.address);
      last.keys.push(key);
      last.places += Number(!isSame);
    } else groups.push({ table, address, count: end - address, keys: [key], places: 1 });
  }
  return groups;
}

/** The same in twice as many requests, or more where what lies between them is too much. @param group of more than one place. */
export function halvesOf(
  { keys, places }: PollingGroup,
  registers: Registers,
  maxGap: number,
): readonly PollingGroup[] {
  const isFirst = (at: number): boolean =>
    at === 0 || !isSamePlace(registerOf(registers, keys[at - 1] ?? ''), registerOf(registers, keys[at] ?? ''));
  const firsts = keys.flatMap((_, at) => (isFirst(at) ? [at] : []));
  const middle = firsts[Math.ceil(places / 2)];
  return [keys.slice(0, middle), middle === undefined ? [] : keys.slice(middle)].flatMap((half) =>
    pollingGroups(Object.fromEntries(half.map((key) => [key, registerOf(registers, key)])), maxGap),
  );
}

function isSamePlace(one: ModbusRegister, other: ModbusRegister): boolean {
  return one.table === other.table && one.address === other.address && modbusWidth(one) === modbusWidth(other);
}

/** True when a single register is asked for. */
export function isAlone({ places }: PollingGroup): boolean {
  return places === 1;
}

export function registerOf(registers: Registers, key: string): ModbusRegister {
  // The keys come from this very table.
  return registers[key] as ModbusRegister;
}

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

/** The value of a register; a number before its scale where that stands in another one. @throws AgentError `hardware/modbus-no-number`, `sensors/no-value`, `sensors/out-of-range` (all retry). */
export function readingOf(key: string, register: ModbusRegister, words: readonly (number | boolean)[]): Reading {
  const { table: _place, unit, type, ...meaning } = register;
  const raw = typeof words[0] === 'boolean' ? words[0] : decodeModbus(words.map(Number), register);
  const width = type.startsWith('float') ? {} : { bits: 16 * words.length, isSigned: type.startsWith('int') };
  const isScaledLater = register.scaleFrom !== undefined && isNumeric(raw);
  const value = isScaledLater ? registerNumber(key, raw, meaning, width) : registerValue(key, raw, meaning, width);
  return { key, value, ...(unit !== undefined && { unit }) };
}

/** Registers as numbers, bits as booleans. */
function readRaw(
  { link, unitId }: Unit,
  { table, address, count }: PollingGroup,
  signal: AbortSignal,
): Promise<readonly (number | boolean)[]> {
  return table === 'coil' || table === 'discrete'
    ? link.readBits(unitId, { table, address, count }, signal)
    : link.readRegisters(unitId, { table, address, count }, signal);
}

function outcomesOf(
  { address, keys }: PollingGroup,
  { registers }: Unit,
  raw: readonly (number | boolean)[],
): readonly Outcome[] {
  return keys.map((key) => {
    const register = registerOf(registers, key);
    const from = register.address - address;
    const words = raw.slice(from, from + modbusWidth(register));
    return outcomeOf(key, () => readingOf(key, register, words));
  });
}
