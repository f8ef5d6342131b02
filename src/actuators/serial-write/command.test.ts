/** Commands as makers print them: relay boards by bytes, numbers by a template with a check sum. */
import { describe, expect, it } from 'vitest';
import { rangeOf } from '../../config/fields/command-template.ts';
import { actuatorSchema } from '../../config/schema/actuators.ts';
import { type CommandConfig, commandOf } from './command.ts';
import { serialWrite } from './definition.ts';

const hex = (config: CommandConfig, value: boolean | number | string): string =>
  commandOf(config, value).toString('hex');

const COMMON = { name: 'relay', kind: 'serial-write', port: '/dev/ttyUSB0' };

function faultsOf(options: Readonly<Record<string, unknown>>): readonly (string | undefined)[] {
  const config = actuatorSchema.parse({ ...COMMON, ...options }) as never;
  return (serialWrite.faults?.(config, ['actuators', 0]) ?? []).map(({ problem }) => problem);
}

describe('bytes of a command', () => {
  it('are those of its value', () => {
    const relay: CommandConfig = { send: { on: '\xa0\x01\x01\xa2', off: '\xa0\x01\x00\xa1' } };
    expect([hex(relay, true), hex(relay, false)]).toEqual(['a00101a2', 'a00100a1']);
    const modes: CommandConfig = { sendHex: { eco: '01 02', '2.5': '03' } };
    expect([hex(modes, 'eco'), hex(modes, 2.5)]).toEqual(['0102', '03']);
    expect(() => hex(modes, 'constructor')).toThrow('no bytes for constructor');
  });

  it('have numbers by type, and the check sum last or where it is said', () => {
    const dimmer = { template: '\x55{value:uint16}', check: { kind: 'sum8' as const } };
    expect(hex(dimmer, 513)).toBe('55020158');
    expect(hex({ template: '\x55{value:uint16le}' }, 513)).toBe('550102');
    expect(hex({ template: '{value:int8}' }, -2)).toBe('fe');
    expect(hex({ template: '{value:float32}' }, 1.5)).toBe('3fc00000');
    // Set points of a unit by a request of Modbus RTU, with the sum of its specification's example.
    const request = { template: '\x11\x06\x00\x01{value:uint16}', check: { kind: 'crc16-modbus' as const } };
    expect(hex(request, 3)).toBe('1106000100039a9b');
    // SDS011: the sum is over the data alone, and a last byte stands behind it.
    const sensor = {
      template: '\xaa\xb4\x08\x01{value:uint8}\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff{check}\xab',
      check: { kind: 'sum8' as const, from: 2 },
    };
    expect(hex(sensor, 0)).toBe('aab408010000000000000000000000ffff07ab');
  });

  it('keep braces in an answer of a template without places for numbers', () => {
    expect(hex({ template: 'SET {value};' }, 7)).toBe(Buffer.from('SET 7;').toString('hex'));
  });

  it('hold the numbers that fit', () => {
    expect([rangeOf('{value:int16}'), rangeOf('{value:uint8}'), rangeOf('{value}')]).toEqual([
      [-32_768, 32_767],
      [0, 255],
      undefined,
    ]);
  });
});

it.each([
  [{}, 'tells nothing'],
  [{ template: '{value}', send: { on: 'a', off: 'b' } }, 'send beside template'],
  [{ send: { on: 'a' } }, 'no bytes for off'],
  [{ valueType: 'number', send: { on: 'a' } }, 'no number:'],
  [{ valueType: 'boolean', send: { on: 'a', off: 'b', high: 'c' } }, 'no value of an output that switches:'],
  [{ send: { on: 'a', off: 'b' }, check: 'sum8' }, 'check has no effect'],
  [{ template: '{value:int7}' }, 'no such type of number:'],
  [{ template: '{value}{check}' }, 'no check sum for'],
  [{ template: '{value}', check: 'nmea' }, 'no check sum that a command can have:'],
])('a configuration of %o is refused: %s', (options, problem) => {
  expect(faultsOf(options)).toEqual([problem]);
});

it.each([
  { template: '{value:uint8}', check: 'xor' },
  { send: { on: 'a' }, sendHex: { off: '00' } },
  { valueType: 'string', send: { eco: 'a', boost: 'b' } },
])('a configuration of %o is taken', (options) => {
  expect(faultsOf(options)).toEqual([]);
});
