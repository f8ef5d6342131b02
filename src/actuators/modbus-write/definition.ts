/** A setpoint or a coil in a Modbus unit. Values are true and false, or numbers that the register can hold. */
import { z } from 'zod';
import { type ModbusConnectionConfig, modbusConnection } from '../../config/fields/addresses.ts';
import { type ConfigPath, pathText } from '../../config/fields/config-fault.ts';
import { duration, whole } from '../../config/fields/fields.ts';
import { type Finding, finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { holdsModbus, MODBUS_TYPES, modbusRange, nearestModbus } from '../../config/fields/modbus-types.ts';
import { endFaults, modbusWidth, noConversion, scaleFaults, unitFaults } from '../../config/fields/registers.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** Two for the request that is on the line already, and two for its own: the silence before and the answer. */
const RESPONSE_TIMES = 4;
/** As for a relay on a pin. */
const DEFAULT_MAX_PULSE_MS = 60_000;
/** Beside those before the movement counts as failed. */
const DEADLINE_MARGIN_MS = 500;

const schema = actuatorSection('modbus-write', {
  connection: modbusConnection,
  unitId: whole(0, 255).default(1),
  table: z.enum(['holding', 'coil']).default('holding'),
  address: whole(0, 65_535),
  type: z.enum(MODBUS_TYPES).default('uint16'),
  wordOrder: z.enum(['big', 'little']).default('big'),
  byteOrder: z.enum(['big', 'little']).default('big'),
  /** value = register × scale + offset, as for the sensor. */
  scale: z.number().default(1),
  offset: z.number().default(0),
  /** For `bool` in a holding register: the one bit that is written, the others as they are. */
  bit: whole(0, 15).optional(),
  /** Function on the wire; default 5 for a coil, 6 for one register, 16 for several. 22 writes a bit without reading the register first. */
  writeFunction: z.literal([5, 6, 15, 16, 22]).optional(),
  readBack: z.boolean().default(true),
  /** The longest pulse anyone may ask for, of a coil or a bit. Default: 1m. */
  maxPulse: duration({ min: '1ms', max: '1h' }).optional(),
});

export type ModbusWriteConfig = ConfigOf<typeof schema>;

export const modbusWrite = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: (config) => (isSwitch(config) ? 'boolean' : 'number'),
  maxPulseMs: (config) => (isSwitch(config) ? (config.maxPulseMs ?? DEFAULT_MAX_PULSE_MS) : undefined),
  range: modbusRange,
  holds: holdsModbus,
  nearest: nearestModbus,
  isReadable: ({ readBack }) => readBack,
  deadlineMs: ({ connection }, usualMs) =>
    Math.max(usualMs, RESPONSE_TIMES * connection.responseTimeoutMs + DEADLINE_MARGIN_MS),
  isIdempotent: true,
  hasOwnSupply: true,
  faults: (config, path) => [
    ...writeFaults(config, path),
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
      return first
        ? [finding([...path, 'address'], problem, `an address of its own; ${pathText(first.path)} has it already`)]
        : [];
    }),
});

function writeFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { type, table } = config;
  if (type === 'string') return [finding([...path, 'type'], 'texts are not written:', 'a type of number, or bool')];
  if (table === 'coil' && type !== 'bool') return [finding([...path, 'type'], 'a coil is one bit:', 'type: bool')];
  return [
    ...unitFaults(config, path),
    ...endFaults(config, path),
    ...scaleFaults(config, path),
    ...(type === 'bool' ? noConversion(config, path, type) : []),
  ];
}

function bitFaults({ table, type, bit }: ModbusWriteConfig, path: ConfigPath): Finding[] {
  if (bit !== undefined && (table === 'coil' || type !== 'bool'))
    return [noEffect(path, 'bit', 'type: bool in a holding register')];
  if (bit !== undefined || table === 'coil' || type !== 'bool') return [];
  const problem = 'writes the whole register, 1 or 0, so that its other fifteen bits are cleared:';
  return [
    finding([...path, 'type'], problem, 'bit: with the number of the one bit, from 0, or another type', {
      warning: true,
    }),
  ];
}

/** Functions that can write what is configured. */
function functionFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  const { table, bit, writeFunction } = config;
  const able =
    table === 'coil' ? [5, 15] : bit !== undefined ? [6, 16, 22] : modbusWidth(config) === 1 ? [6, 16] : [16];
  if (writeFunction === undefined || able.includes(writeFunction)) return [];
  return [finding([...path, 'writeFunction'], 'a function that does not write this:', able.join(' or '))];
}

/** The longest time on ends with off, which not every register can hold. */
function offFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  if (config.limits.maxOnMs === undefined || holdsModbus(config, 0)) return [];
  const problem = `maxOn has no effect, as 0 does not fit into ${config.type}`;
  return [findingAtKey([...path, 'limits', 'maxOn'], problem, 'another type, scale or offset')];
}

function pulseFaults(config: ModbusWriteConfig, path: ConfigPath): Finding[] {
  return config.maxPulseMs === undefined || isSwitch(config) ? [] : [noEffect(path, 'maxPulse', 'a coil, or type: bool')];
}

/** True for what is on or off. */
function isSwitch({ table, type }: Pick<ModbusWriteConfig, 'table' | 'type'>): boolean {
  return table === 'coil' || type === 'bool';
}

function overlaps(a: ModbusWriteConfig, b: ModbusWriteConfig): boolean {
  if (a.table !== b.table || a.unitId !== b.unitId || endOf(a.connection) !== endOf(b.connection)) return false;
  if (a.address === b.address && a.bit !== undefined && b.bit !== undefined) return a.bit === b.bit;
  return a.address < b.address + modbusWidth(b) && b.address < a.address + modbusWidth(a);
}

function endOf(connection: ModbusConnectionConfig): string {
  return !('host' in connection) ? connection.port : `${connection.host.toLowerCase()}:${connection.port}`;
}
