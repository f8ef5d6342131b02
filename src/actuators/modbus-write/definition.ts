/** A setpoint, a mode or a coil in a Modbus unit. Values are true and false, numbers that the register can hold, or names of a map. */
import { z } from 'zod';
import { type ModbusConnectionConfig, modbusConnection } from '../../config/fields/addresses.ts';
import { type ConfigPath, pathText } from '../../config/fields/config-fault.ts';
import { duration, list, table, whole } from '../../config/fields/fields.ts';
import { type Finding, finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import {
  fitsModbus,
  holdsModbus,
  MODBUS_TYPES,
  modbusRange,
  nearestModbus,
  registersOf,
} from '../../config/fields/modbus-types.ts';
import {
  endFaults,
  modbusWidth,
  noConversion,
  numberFaults,
  scaleFaults,
  unitFaults,
  wireAddress,
} from '../../config/fields/registers.ts';
import {
  areNeighbours,
  endOfRegister,
  stateRegister,
  VALUE,
  valueRegisters,
  type WrittenRegister,
  writtenRegister,
  writtenRegisters,
} from '../../config/fields/written-registers.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** Two for the request that is on the line already, and two for its own: the silence before and the answer. */
const RESPONSE_TIMES = 4;
/** Default of a pulse, that of a relay on a pin. */
const DEFAULT_MAX_PULSE_MS = 60_000;
/** Beside those before the movement counts as failed. */
const DEADLINE_MARGIN_MS = 500;

/** Registers of one write with function 16 at most (V1.1b3, section 6.12). */
const MAX_WORDS = 123;
const MAX_REGISTERS = 16;

const schema = actuatorSection('modbus-write', () => ({
  connection: modbusConnection,
  unitId: whole(0, 255).default(1),
  table: z.enum(['holding', 'coil']).default('holding'),
  address: wireAddress().optional(),
  type: z.enum(MODBUS_TYPES).default('uint16'),
  wordOrder: z.enum(['big', 'little']).default('big'),
  byteOrder: z.enum(['big', 'little']).default('big'),
  /** value = register × scale + offset, as for the sensor. */
  scale: z.number().default(1),
  offset: z.number().default(0),
  /** For `bool` in a holding register: the one bit that is written, the others as they are. */
  bit: whole(0, 15).optional(),
  /** In place of `address`: the registers that one command writes, in this order. The first that takes `{value}` is read back. */
  registers: list(writtenRegister, { min: 1, max: MAX_REGISTERS }).optional(),
  /** Writes `registers` in one request, by function 16; each begins where the one before ends. */
  inOneWrite: z.boolean().optional(),
  /** Names by the number in the register, as for the sensor: commands and rules take the names. */
  map: table(z.string().max(255), z.string().min(1).max(255)).optional(),
  /** Function on the wire; default 5 for a coil, 6 for one register, 16 for several. 22 writes a bit without reading the register first. */
  writeFunction: z.literal([5, 6, 15, 16, 22]).optional(),
  /** Reads back after each write; with a time also every so often, for what somebody changes at the device. */
  readBack: z
    .union([
      z.boolean(),
      duration({ min: '1s', max: '1d' }).transform((every): { readonly everyMs: number } => ({
        everyMs: every.amount,
      })),
    ])
    .meta({ expected: 'true, false, or a duration such as 30s, from 1s to 1d' })
    .prefault(true),
  /** Writes what is in force again every so often, for units that forget a set point. */
  repeatEvery: duration({ min: '1s', max: '1h' }).optional(),
  /** The longest pulse anyone may ask for, of a coil or a bit. Default: 1m. */
  maxPulse: duration({ min: '1ms', max: '1h' }).optional(),
}));

export type ModbusWriteConfig = ConfigOf<typeof schema>;

export const modbusWrite = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: (config) => (isSwitch(config) ? 'boolean' : config.map === undefined ? 'number' : 'string'),
  texts: ({ map }) => (map === undefined ? undefined : Object.values(map)),
  maxPulseMs: (config) => (isSwitch(config) ? (config.maxPulseMs ?? DEFAULT_MAX_PULSE_MS) : undefined),
  range: (config) => {
    const ranges = valueRegisters(config)
      .map(modbusRange)
      .filter((range) => range !== undefined);
    if (ranges.length === 0) return undefined;
    return [Math.max(...ranges.map(([least]) => least)), Math.min(...ranges.map(([, most]) => most))];
  },
  holds: (config, value) => valueRegisters(config).every((register) => holdsModbus(register, value)),
  nearest: (config, value) => nearestModbus(stateRegister(config), value),
  isReadable: ({ readBack }) => readBack !== false,
  readEveryMs: ({ readBack }) => (typeof readBack === 'boolean' ? undefined : readBack.everyMs),
  repeatEveryMs: ({ repeatEveryMs }) => repeatEveryMs,
  deadlineMs: (config, usualMs) => {
    const requests = config.inOneWrite === true ? 1 : writtenRegisters(config).length;
    // Two turns for what is under way already, and two for each of its own.
    const times = RESPONSE_TIMES + 2 * (requests - 1);
    return Math.max(usualMs, times * config.connection.responseTimeoutMs + DEADLINE_MARGIN_MS);
  },
  isIdempotent: true,
  hasOwnSupply: true,
  faults: (config, path) => [
    ...writeFaults(config, path),
    ...registerFaults(config, path),
    ...numberFaults(placesOf(config, path)),
    ...mapFaults(config, path),
    ...bitFaults(config, path),
    ...functionFaults(config, path),
    ...offFaults(config, path),
    ...pulseFaults(config, path),
  ],
  // One actuator would write over the other.
  faultsAmong: (writers) =>
    writers.flatMap(({ config, path }, index) => {
      const first = writers.slice(0, index).find((other) => overlaps(other.config, config));
      const problem = `two actuators on one ${config.table === 'coil' ? 'coil' : 'register'}:`;
      const at = [...path, config.registers === undefined ? 'address' : 'registers'];
      return first ? [finding(at, problem, `an address of its own; ${pathText(first.path)} has it already`)] : [];
    }),
});

function placesOf(config: ModbusWriteConfig, path: ConfigPath): Parameters<typeof numberFaults>[0] {
  const { table: of, registers } = config;
  return writtenRegisters(config).map(({ address }, index) => ({
    register: { table: of, address },
    at: registers === undefined ? path : [...path, 'registers', index],
  }));
}

function writeFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { type, table: of, address, registers } = config;
  if (registers !== undefined) return unitFaults(config, path);
  if (address === undefined) return [findingAtKey(path, 'no place to write to', 'address:, or registers:')];
  if (type === 'string') return [finding([...path, 'type'], 'texts are not written:', 'a type of number, or bool')];
  if (of === 'coil' && type !== 'bool') return [finding([...path, 'type'], 'a coil is one bit:', 'type: bool')];
  return [
    ...unitFaults(config, path),
    ...endFaults({ ...config, address }, path),
    ...scaleFaults(config, path),
    ...(type === 'bool' ? noConversion(config, path, type) : []),
  ];
}

/** Finds what cannot be written as a row of registers. */
function registerFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { registers, table: of, inOneWrite, address, bit } = config;
  if (registers === undefined) return inOneWrite === undefined ? [] : [noEffect(path, 'inOneWrite', 'registers:')];
  const at = [...path, 'registers'];
  const beside = Object.entries({ address, bit }).filter(([, given]) => given !== undefined);
  const findings = beside.map(([option]) => noEffect(path, option, 'no registers: beside it'));
  if (of === 'coil') findings.push(finding([...path, 'table'], 'registers are not coils:', 'table: holding'));
  if (!registers.some(({ value }) => value === VALUE))
    findings.push(findingAtKey(at, 'every command would write the same', `value: "${VALUE}" for one of them`));
  if (new Set(valueRegisters(config).map(({ type }) => type === 'bool')).size > 1)
    findings.push(findingAtKey(at, `${VALUE} is both on or off and a number`, 'bool for all of them, or for none'));
  if (inOneWrite === true && !areNeighbours(registers))
    findings.push(finding([...path, 'inOneWrite'], 'there are gaps between the registers:', 'false'));
  if (inOneWrite === true && registers.reduce((sum, one) => sum + registersOf(one), 0) > MAX_WORDS)
    findings.push(finding([...path, 'inOneWrite'], 'one request does not hold them:', 'false'));
  for (const [index, register] of registers.entries()) {
    const here = [...at, index];
    const { type, value } = register;
    if (type === 'string') findings.push(finding([...here, 'type'], 'texts are not written:', 'a type of number'));
    else if (typeof value === 'number' && !holdsModbus(register, value))
      findings.push(finding([...here, 'value'], `does not fit into ${type}:`, 'a number that does'));
    findings.push(...endFaults({ table: of, ...register }, here), ...scaleFaults(register, here));
    const before = registers.slice(0, index).findIndex((other) => isOver(other, register));
    if (before >= 0)
      findings.push(
        finding([...here, 'address'], 'written twice:', `an address of its own; registers[${before}] has it already`),
      );
  }
  return findings;
}

/** True of two that have a register in common. */
function isOver(one: WrittenRegister, other: WrittenRegister): boolean {
  return one.address < endOfRegister(other) && other.address < endOfRegister(one);
}

/** Finds names that cannot be written. */
function mapFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { map, scale, offset } = config;
  if (map === undefined) return [];
  if (isSwitch(config)) return [noEffect(path, 'map', 'a type of number instead of bool')];
  const at = [...path, 'map'];
  const findings = Object.entries({ scale: scale !== 1, offset: offset !== 0 })
    .filter(([, isGiven]) => isGiven)
    .map(([option]) => noEffect(path, option, 'no map: beside it'));
  if (Object.keys(map).length === 0) findings.push(findingAtKey(at, 'no name', 'at least one'));
  const names = new Set<string>();
  for (const [number, name] of Object.entries(map)) {
    const isWhole = /^-?\d+$/.test(number);
    if (!isWhole || !valueRegisters(config).every(({ type }) => fitsModbus(type, Number(number))))
      findings.push(
        findingAtKey([...at, number], `${number} is no number of the register`, 'a whole number that fits'),
      );
    if (names.has(name)) findings.push(finding([...at, number], 'one name for two numbers:', 'a name of its own'));
    names.add(name);
  }
  return findings;
}

function bitFaults({ table: of, type, bit, registers }: ModbusWriteConfig, path: ConfigPath): Finding[] {
  if (registers !== undefined) return [];
  if (bit !== undefined && (of === 'coil' || type !== 'bool'))
    return [noEffect(path, 'bit', 'type: bool in a holding register')];
  if (bit !== undefined || of === 'coil' || type !== 'bool') return [];
  const problem = 'writes the whole register, 1 or 0, so that its other fifteen bits are cleared:';
  return [
    finding([...path, 'type'], problem, 'bit: with the number of the one bit, from 0, or another type', {
      warning: true,
    }),
  ];
}

/** Functions that can write what is configured. */
function functionFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { table: of, bit, writeFunction } = config;
  const isSingle = config.inOneWrite !== true && writtenRegisters(config).every((one) => registersOf(one) === 1);
  const able = of === 'coil' ? [5, 15] : bit !== undefined ? [6, 16, 22] : isSingle ? [6, 16] : [16];
  if (writeFunction === undefined || able.includes(writeFunction)) return [];
  return [finding([...path, 'writeFunction'], 'a function that does not write this:', able.join(' or '))];
}

/** The longest time on ends with off, which not every register can hold. */
function offFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const register = stateRegister(config);
  if (config.limits.maxOnMs === undefined || config.map !== undefined || holdsModbus(register, 0)) return [];
  const problem = `maxOn has no effect, as 0 does not fit into ${register.type}`;
  return [findingAtKey([...path, 'limits', 'maxOn'], problem, 'another type, scale or offset')];
}

function pulseFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  return config.maxPulseMs === undefined || isSwitch(config)
    ? []
    : [noEffect(path, 'maxPulse', 'a coil, or type: bool')];
}

/** True for what is on or off. */
function isSwitch(config: ModbusWriteConfig): boolean {
  return config.table === 'coil' || stateRegister(config).type === 'bool';
}

function overlaps(a: ModbusWriteConfig, b: ModbusWriteConfig): boolean {
  if (a.table !== b.table || a.unitId !== b.unitId || endOf(a.connection) !== endOf(b.connection)) return false;
  if (a.address === b.address && a.bit !== undefined && b.bit !== undefined) return a.bit === b.bit;
  const width = (of: ModbusWriteConfig, { type }: WrittenRegister): number => modbusWidth({ table: of.table, type });
  // Two outputs of one unit may share a register for its mode, each with its own number.
  return writtenRegisters(a).some((one) =>
    writtenRegisters(b).some(
      (other) =>
        (one.value === VALUE || other.value === VALUE) &&
        one.address < other.address + width(b, other) &&
        other.address < one.address + width(a, one),
    ),
  );
}

function endOf(connection: ModbusConnectionConfig): string {
  return !('host' in connection) ? connection.port : `${connection.host.toLowerCase()}:${connection.port}`;
}
