/** Which registers of a Modbus unit are asked for together. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import type { ModbusTable } from '../hardware/modbus-port.ts';
import { registersOf } from '../hardware/modbus-values.ts';

export type ModbusRegister = SensorConfigOf<'modbus'>['registers'][string];

/** One request and the keys that are read from its answer. */
export interface PollingGroup {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
  readonly keys: readonly string[];
}

/** The most one request may ask for (V1.1b3, sections 6.1 to 6.4). */
const MOST = { holding: 125, input: 125, coil: 2_000, discrete: 2_000 } as const;

/** Registers in as few requests as maxGap allows. @param alone keys that share no request. */
export function pollingGroups(
  registers: Readonly<Record<string, ModbusRegister>>,
  maxGap: number,
  alone: ReadonlySet<string> = new Set(),
): readonly PollingGroup[] {
  const sorted = Object.entries(registers).sort(([, a], [, b]) => a.table.localeCompare(b.table) || a.address - b.address);
  const groups: { table: ModbusTable; address: number; count: number; keys: string[] }[] = [];
  for (const [key, register] of sorted) {
    const { table, address } = register;
    const end = address + widthOf(register);
    const last = groups.at(-1);
    if (
      last !== undefined &&
      last.table === table &&
      !alone.has(key) &&
      !alone.has(last.keys[0] ?? '') &&
      address - (last.address + last.count) <= maxGap &&
      end - last.address <= MOST[table]
    ) {
      last.count = Math.max(last.count, end - last.address);
      last.keys.push(key);
    } else groups.push({ table, address, count: end - address, keys: [key] });
  }
  return groups;
}

/** The same in twice as many requests, or more where what lies between them is too much. */
export function halvesOf(
  { keys }: PollingGroup,
  registers: Readonly<Record<string, ModbusRegister>>,
  maxGap: number,
): readonly PollingGroup[] {
  const middle = Math.ceil(keys.length / 2);
  return [keys.slice(0, middle), keys.slice(middle)].flatMap((half) =>
    pollingGroups(Object.fromEntries(half.map((key) => [key, registerOf(registers, key)])), maxGap),
  );
}

export function registerOf(registers: Readonly<Record<string, ModbusRegister>>, key: string): ModbusRegister {
  // The keys come from this very table.
  return registers[key] as ModbusRegister;
}

export function widthOf(register: ModbusRegister): number {
  if (register.table === 'coil' || register.table === 'discrete') return 1;
  const { type, length } = register;
  return registersOf(length === undefined ? { type } : { type, length });
}
