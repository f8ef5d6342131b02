/** Options that need each other: a pattern for `regex`, a bit within a register, placeholders that are given. */
import type { SensorConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import { didYouMean } from '../did-you-mean.ts';
import { namedGroups } from '../sensor-keys.ts';
import type { Check, Finding } from './draft.ts';

export const checkFormats: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }): Finding[] => {
    if (config.kind === 'serial-line' || config.kind === 'command') return lineFormatFaults(config, path);
    if (config.kind === 'modbus') return registerFaults(config, path);
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

/** `{name}` in a method's arguments that no parameter gives. */
export const checkPlaceholders: Check = ({ sections }) =>
  Object.entries(sections.rpc?.methods ?? {}).flatMap(([name, { command, params }]) => {
    const known = Object.keys(params?.properties ?? {});
    return (command?.arguments ?? []).flatMap((argument, index) =>
      [...argument.matchAll(/\{([A-Za-z][\w-]*)\}/g)]
        .map(([, word]) => word ?? '')
        .filter((word) => !known.includes(word))
        .map((word) => ({
          path: ['rpc', 'methods', name, 'command', 'arguments', index],
          problem: `no parameter ${word} for`,
          expected: known.length === 0 ? 'params: with properties' : `one of ${known.map((one) => `{${one}}`).join(', ')}`,
          ...didYouMean(word, known),
        })),
    );
  });
