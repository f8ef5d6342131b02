/** Options that need each other: a pattern for `regex`, a bit within a register. */
import type { SensorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import { namedGroups } from '../sensor-keys.ts';
import type { Check, Finding } from './draft.ts';

export const checkFormats: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }): Finding[] => {
    if (config.kind === 'serial-line' || config.kind === 'command') return lineFormatFaults(config, path);
    if (config.kind === 'modbus') return registerFaults(config, path);
    if (config.kind === 'ina219') return shuntFaults(config, path);
    if (config.kind === 'i2c-register') {
      return Object.entries(config.registers).flatMap(([key, { width, shift, bits = 0 }]) =>
        shift + bits > width * 8
          ? [
              {
                path: [...path, 'registers', key],
                atKey: true,
                problem: 'shift and bits reach past the register',
                expected: `at most ${width * 8} bits`,
              },
            ]
          : [],
      );
    }
    if (config.kind === 'ads1115' && Object.keys(config.channels).length === 0)
      return [{ path: [...path, 'channels'], problem: 'no channel', expected: 'at least one' }];
    return [];
  });

function lineFormatFaults(config: Extract<SensorConfig, { kind: 'serial-line' | 'command' }>, path: ConfigPath): Finding[] {
  if (config.format === 'csv' && config.columns === undefined)
    return [{ path: [...path, 'format'], problem: 'no columns for', expected: 'columns: with the key of each column' }];
  if (config.format !== 'regex') return [];
  if (config.pattern === undefined)
    return [{ path: [...path, 'format'], problem: 'no pattern for', expected: 'pattern: with named groups' }];
  if (namedGroups(config.pattern).length > 0) return [];
  return [{ path: [...path, 'pattern'], problem: 'no named group in', expected: 'named groups such as (?<temperature>[-0-9.]+)' }];
}

/** The shunt's amplifier of an INA219 ends at 320 mV (SBOS448G, table 8-5): it would show its end for any greater current. */
const GREATEST_SHUNT_VOLTS = 0.32;

function shuntFaults({ shuntOhms, maxAmperes }: Extract<SensorConfig, { kind: 'ina219' }>, path: ConfigPath): Finding[] {
  const greatest = Number((GREATEST_SHUNT_VOLTS / shuntOhms).toPrecision(12));
  if (maxAmperes <= greatest) return [];
  return [
    {
      path: [...path, 'maxAmperes'],
      problem: `more than 320 mV at ${shuntOhms} ohm:`,
      expected: `at most ${Math.floor(greatest * 1_000) / 1_000}, or a smaller shunt`,
    },
  ];
}

function registerFaults(config: Extract<SensorConfig, { kind: 'modbus' }>, path: ConfigPath): Finding[] {
  if (Object.keys(config.registers).length === 0)
    return [{ path: [...path, 'registers'], problem: 'no register', expected: 'at least one' }];
  return Object.entries(config.registers).flatMap(([key, { type, bit, length, table }]): Finding[] => {
    const at = [...path, 'registers', key];
    if (bit !== undefined && type !== 'bool')
      return [{ path: [...at, 'bit'], problem: 'a bit of a number:', expected: 'type: bool, or no bit' }];
    if (type === 'string' && length === undefined)
      return [{ path: [...at, 'type'], problem: 'no length for', expected: 'length: with the number of registers' }];
    if ((table === 'coil' || table === 'discrete') && type !== 'bool')
      return [{ path: [...at, 'type'], problem: `a ${table} is one bit:`, expected: 'type: bool' }];
    return [];
  });
}

/** Limits of a register that leave it nothing to give. */
export const checkRegisterLimits: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) => {
    if (config.kind !== 'modbus' && config.kind !== 'i2c-register') return [];
    return Object.entries(config.registers).flatMap(([key, { min, max }]): Finding[] =>
      min !== undefined && max !== undefined && min > max
        ? [{ path: [...path, 'registers', key, 'min'], problem: 'above max:', expected: `at most ${max}` }]
        : [],
    );
  });
