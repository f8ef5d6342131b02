/** A Modbus unit by a map of its registers. Neighbours are read in one request, because a turn-around costs more than a few unused registers. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import type { ModbusLink, ModbusTable } from '../hardware/modbus-port.ts';
import { decodeModbus, registersOf } from '../hardware/modbus-values.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

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

export async function openModbus(config: SensorConfigOf<'modbus'>, { ports }: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, connection, unitId, registers, maxGap } = config;
  const link = await ports.modbus.open(connection, signal);
  const groups = pollingGroups(registers, maxGap);
  return {
    name,
    read: async (readSignal) => {
      const readings = new Map<string, Reading>();
      for (const group of groups)
        for (const reading of await readGroup(link, unitId, group, registers, readSignal)) readings.set(reading.key, reading);
      return Object.keys(registers).flatMap((key) => readings.get(key) ?? []);
    },
    close: () => link.close(),
  };
}

/** Registers in as few requests as maxGap allows. */
export function pollingGroups(registers: Readonly<Record<string, ModbusRegister>>, maxGap: number): readonly PollingGroup[] {
  const sorted = Object.entries(registers).sort(([, a], [, b]) => a.table.localeCompare(b.table) || a.address - b.address);
  const groups: { table: ModbusTable; address: number; count: number; keys: string[] }[] = [];
  for (const [key, register] of sorted) {
    const { table, address } = register;
    const end = address + widthOf(register);
    const last = groups.at(-1);
    if (
      last !== undefined &&
      last.table === table &&
      address - (last.address + last.count) <= maxGap &&
      end - last.address <= MOST[table]
    ) {
      last.count = Math.max(last.count, end - last.address);
      last.keys.push(key);
    } else groups.push({ table, address, count: end - address, keys: [key] });
  }
  return groups;
}

/** @throws AgentError `hardware/modbus-no-number` (retry). */
export function readingOf(key: string, register: ModbusRegister, words: readonly number[]): Reading {
  const { scale, offset, unit, bit, length, ...layout } = register;
  const raw = decodeModbus(words, { ...layout, ...(bit !== undefined && { bit }), ...(length !== undefined && { length }) });
  const isNumber = typeof raw === 'number' || typeof raw === 'bigint';
  // Twelve digits are more than any meter resolves, and none of them is noise of binary fractions.
  const value = !isNumber || (scale === 1 && offset === 0) ? raw : Number((Number(raw) * scale + offset).toPrecision(12));
  return { key, value, ...(unit !== undefined && { unit }) };
}

async function readGroup(
  link: ModbusLink,
  unitId: number,
  { table, address, count, keys }: PollingGroup,
  registers: Readonly<Record<string, ModbusRegister>>,
  signal: AbortSignal,
): Promise<readonly Reading[]> {
  const of = (key: string): ModbusRegister => registers[key] as ModbusRegister;
  if (table === 'coil' || table === 'discrete') {
    const bits = await link.readBits(unitId, table, address, count, signal);
    return keys.map((key) => ({ key, value: bits[of(key).address - address] === true }));
  }
  const words = await link.readRegisters(unitId, table, address, count, signal);
  return keys.map((key) => {
    const from = of(key).address - address;
    return readingOf(key, of(key), words.slice(from, from + widthOf(of(key))));
  });
}

function widthOf(register: ModbusRegister): number {
  if (register.table === 'coil' || register.table === 'discrete') return 1;
  const { type, length } = register;
  return registersOf(length === undefined ? { type } : { type, length });
}
