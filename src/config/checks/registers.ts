/** Registers of units and chips: that they are there, that they are whole, and that what is said of them means something. */
import type { ActuatorConfig, ModbusConnectionConfig, SensorConfig } from '../agent-config.ts';
import { type ConfigPath, pathText } from '../config-fault.ts';
import type { Check, Finding, Placed } from './draft.ts';
import { modbusWidth } from './modbus-range.ts';

const ADDRESSES = 65_536;

type ModbusWrite = Extract<ActuatorConfig, { kind: 'modbus-write' }>;
type ReadRegister = Extract<SensorConfig, { kind: 'modbus' }>['registers'][string];

interface Converted {
  readonly scale?: number | undefined;
  readonly offset?: number | undefined;
}

export const checkRegisters: Check = ({ sensors, actuators }) => [
  ...sensors.flatMap(({ config, path }) => [...sensorFaults(config, path), ...keyFaults(config, path)]),
  ...actuators.flatMap(({ config, path }) => (config.kind === 'modbus-write' ? writeFaults(config, path) : [])),
];

/** What one actuator writes, another would write over. */
export const checkWrittenRegisters: Check = ({ actuators }) => {
  const writers = actuators.filter((one): one is Placed<ModbusWrite> => one.config.kind === 'modbus-write');
  return writers.flatMap(({ config, path }, index) => {
    const first = writers.slice(0, index).find((other) => overlaps(other.config, config));
    if (first === undefined) return [];
    return [
      {
        path: [...path, 'address'],
        problem: `two actuators on one ${config.table === 'coil' ? 'coil' : 'register'}:`,
        expected: `an address of its own; ${pathText(first.path)} has it already`,
      },
    ];
  });
};

function sensorFaults(config: SensorConfig, path: ConfigPath): Finding[] {
  if (config.kind === 'modbus')
    return [
      ...unitFaults(config, path),
      ...Object.entries(config.registers).flatMap(([key, register]) => readFaults(register, [...path, 'registers', key])),
    ];
  if (config.kind !== 'i2c-register') return [];
  if (Object.keys(config.registers).length === 0)
    return [{ path: [...path, 'registers'], problem: 'no register', expected: 'at least one' }];
  return Object.entries(config.registers).flatMap(([key, register]) => scaleFaults(register, [...path, 'registers', key]));
}

/** Only a warning: somebody may want a constant at the platform. */
function keyFaults({ keys }: SensorConfig, path: ConfigPath): Finding[] {
  const faults = Object.entries(keys).flatMap(([key, rules]) => scaleFaults(rules, [...path, 'keys', key]));
  return faults.map((fault) => ({ ...fault, warning: true }));
}

function readFaults(register: ReadRegister, path: ConfigPath): Finding[] {
  const { type, table, bit, length } = register;
  const findings = [...endFaults(register, path), ...scaleFaults(register, path)];
  if (table === 'coil' || table === 'discrete') {
    if (bit !== undefined) findings.push({ path: [...path, 'bit'], problem: `a ${table} is one bit:`, expected: 'no bit' });
  }
  if (length !== undefined && type !== 'string')
    findings.push({ path: [...path, 'length'], problem: 'a length of what has its own:', expected: 'type: string, or no length' });
  if (type === 'bool' || type === 'string') findings.push(...noConversion(register, path, type));
  return findings;
}

function writeFaults(config: ModbusWrite, path: ConfigPath): Finding[] {
  const { type, table } = config;
  if (type === 'string') return [{ path: [...path, 'type'], problem: 'texts are not written:', expected: 'a type of number, or bool' }];
  if (table === 'coil' && type !== 'bool') return [{ path: [...path, 'type'], problem: 'a coil is one bit:', expected: 'type: bool' }];
  return [
    ...unitFaults(config, path),
    ...endFaults(config, path),
    ...scaleFaults(config, path),
    ...(type === 'bool' ? noConversion(config, path, type) : []),
  ];
}

/** Unit 0 on a serial line is everyone, and nobody answers (Modbus over serial line V1.02, section 2.1). */
function unitFaults(
  { unitId, connection }: { readonly unitId: number; readonly connection: ModbusConnectionConfig },
  path: ConfigPath,
): Finding[] {
  if (unitId !== 0 || connection.transport !== 'rtu') return [];
  return [{ path: [...path, 'unitId'], problem: 'every unit on the line, of which none answers:', expected: 'a unit from 1 to 247' }];
}

function endFaults(register: Pick<ReadRegister, 'address' | 'type' | 'length'> & { readonly table: string }, path: ConfigPath): Finding[] {
  const width = modbusWidth(register);
  if (register.address + width <= ADDRESSES) return [];
  return [{ path: [...path, 'address'], problem: `${width} registers reach past the last one:`, expected: `at most ${ADDRESSES - width}` }];
}

function scaleFaults({ scale }: Converted, path: ConfigPath): Finding[] {
  return scale === 0 ? [{ path: [...path, 'scale'], problem: 'makes every value the same:', expected: 'another number than 0' }] : [];
}

function noConversion({ scale = 1, offset = 0 }: Converted, path: ConfigPath, type: string): Finding[] {
  const given = [...(scale === 1 || scale === 0 ? [] : ['scale']), ...(offset === 0 ? [] : ['offset'])];
  return given.map((option) => ({
    path: [...path, option],
    atKey: true,
    problem: `${option} has no effect`,
    value: '',
    expected: `a type of number instead of ${type}`,
  }));
}

function overlaps(a: ModbusWrite, b: ModbusWrite): boolean {
  if (a.table !== b.table || a.unitId !== b.unitId || endOf(a.connection) !== endOf(b.connection)) return false;
  return a.address < b.address + modbusWidth(b) && b.address < a.address + modbusWidth(a);
}

function endOf(connection: ModbusConnectionConfig): string {
  return connection.transport === 'rtu' ? connection.port : `${connection.host.toLowerCase()}:${connection.port}`;
}
