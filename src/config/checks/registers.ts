/** Registers that are written: that they are whole, that no two actuators share one; and conversions that mean nothing. */
import type { ActuatorConfig, ModbusConnectionConfig, SensorConfig } from '../agent-config.ts';
import { type ConfigPath, pathText } from '../config-fault.ts';
import type { Finding, Placed } from '../fields/findings.ts';
import { endFaults, modbusWidth, noConversion, scaleFaults, unitFaults } from '../fields/registers.ts';
import type { Check } from './draft.ts';

type ModbusWrite = Extract<ActuatorConfig, { kind: 'modbus-write' }>;

export const checkRegisters: Check = ({ sensors, actuators }) => [
  ...sensors.flatMap(({ config, path }) => keyFaults(config, path)),
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

/** Only a warning: somebody may want a constant at the platform. */
function keyFaults({ keys }: SensorConfig, path: ConfigPath): Finding[] {
  const faults = Object.entries(keys).flatMap(([key, rules]) => scaleFaults(rules, [...path, 'keys', key]));
  return faults.map((fault) => ({ ...fault, warning: true }));
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

function overlaps(a: ModbusWrite, b: ModbusWrite): boolean {
  if (a.table !== b.table || a.unitId !== b.unitId || endOf(a.connection) !== endOf(b.connection)) return false;
  return a.address < b.address + modbusWidth(b) && b.address < a.address + modbusWidth(a);
}

function endOf(connection: ModbusConnectionConfig): string {
  return connection.transport === 'rtu' ? connection.port : `${connection.host.toLowerCase()}:${connection.port}`;
}
