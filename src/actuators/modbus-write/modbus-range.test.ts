/** Registers: check-config says of them what the drivers do. */
import { describe, expect, it } from 'vitest';
import { configOf, SMALLEST } from '../../../test/support/config-file.ts';
import { MODBUS_TYPES } from '../../config/fields/modbus-types.ts';
import { modbusWidth } from '../../config/fields/registers.ts';
import { decodeModbus, encodeModbus } from '../../hardware/modbus-values.ts';
import { modbusWrite } from './definition.ts';

it('a Modbus unit has a number from 0 to 255, and 1 where none is given', async () => {
  const unitOf = async (unit: string): Promise<unknown> => {
    const actuator = `{ name: a, kind: modbus-write, connection: { transport: tcp, host: b }, address: 0${unit} }`;
    const [made] = (await configOf(`${SMALLEST}actuators: [${actuator}]`)).actuators;
    return made?.kind === 'modbus-write' && made.unitId;
  };
  expect(await Promise.all(['', ', unitId: 0', ', unitId: 255'].map(unitOf))).toEqual([1, 0, 255]);
  for (const beyond of [-1, 256]) await expect(unitOf(`, unitId: ${beyond}`)).rejects.toThrow();
});

describe.each(MODBUS_TYPES)('a Modbus %s', (type) => {
  it('takes as many registers as are read', () => {
    const layout = { type, wordOrder: 'big', byteOrder: 'big', length: type === 'string' ? 7 : undefined } as const;
    const words = Array.from({ length: modbusWidth({ table: 'holding', ...layout }) }, () => 0x4141);
    expect(decodeModbus(words, layout)).toEqual(type === 'string' ? 'A'.repeat(14) : expect.anything());
    if (type !== 'string') expect(() => decodeModbus(words.slice(1), layout)).toThrow(RangeError);
  });

  it.runIf(type !== 'bool' && type !== 'string')('holds the numbers that are written, and no others', async () => {
    const [actuator] = (
      await configOf(
        `${SMALLEST}actuators: [{ name: a, kind: modbus-write, connection: { transport: tcp, host: b }, address: 1, type: ${type} }]`,
      )
    ).actuators;
    if (actuator?.kind !== 'modbus-write') throw new Error('another kind');
    const range = modbusWrite.range?.(actuator);
    const layout = { type, wordOrder: 'big', byteOrder: 'big' } as const;
    for (const end of range ?? [-Number.MAX_VALUE, Number.MAX_VALUE])
      expect(() => encodeModbus(end, layout)).not.toThrow();
    if (range === undefined) return;
    const step = type === 'float32' ? 2 ** 104 : 1;
    for (const beyond of [range[0] - step, range[1] + step])
      expect(() => encodeModbus(beyond, layout)).toThrow('does not fit');
  });
});
