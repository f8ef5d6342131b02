/** Values written over Modbus, and read back. */

import { beforeEach, describe, expect, it } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import { modbusConnection } from '../../config/fields/addresses.ts';
import { refusal } from '../../errors/agent-error.ts';
import type { ModbusLink, ModbusPort, RegisterRange } from '../../hardware/modbus-port.ts';
import { type ModbusWriteConfig, modbusWrite } from './definition.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const open = opensWith(opener);
const ROW = { type: 'uint16', scale: 1, offset: 0, value: '{value}' } as const;

describe('a Modbus actuator', () => {
  let registers: Map<number, number>;
  let coils: Map<number, boolean>;
  let ranks: string[];
  const link: ModbusLink = {
    writeRegisters: async (_unit: number, address: number, words: readonly number[]) => {
      for (const [at, word] of words.entries()) registers.set(address + at, word);
    },
    readRegisters: async (_unit: number, { address, count }: RegisterRange) =>
      Array.from({ length: count }, (_, at) => registers.get(address + at) ?? 0),
    writeCoil: async (_unit: number, address: number, on: boolean) => void coils.set(address, on),
    readBits: async (_unit: number, { address }: RegisterRange) => [coils.get(address) === true],
    close: async () => {},
    ranked: (rank: string) => {
      ranks.push(rank);
      return link;
    },
  } as Partial<ModbusLink> as ModbusLink;
  const modbus = { open: async () => link } as Partial<ModbusPort> as ModbusPort;
  const config = (changes: Partial<ModbusWriteConfig>): ModbusWriteConfig => ({
    ...COMMON,
    kind: 'modbus-write',
    connection: modbusConnection.parse({ transport: 'tcp', host: 'plc', responseTimeout: '100ms' }),
    unitId: 1,
    table: 'holding',
    address: 40,
    type: 'int16',
    wordOrder: 'big',
    byteOrder: 'big',
    scale: 1,
    offset: 0,
    readBack: true,
    ...changes,
  });
  beforeEach(() => {
    registers = new Map();
    coils = new Map();
    ranks = [];
  });

  it('tells a manual’s number from an address, when it is checked and when a unit has none there', async () => {
    const hint = 'looks like a number of a manual, which counts from 1 and begins with the table:';
    const faultsOf = (changes: Partial<ModbusWriteConfig>): unknown =>
      modbusWrite.faults?.(config(changes), ['actuators', 0]).filter(({ warning }) => warning);
    const row = [40_010, 40_002].map((address) => ({ ...ROW, address }));
    const at = (...path: (string | number)[]): unknown => expect.objectContaining({ path: ['actuators', 0, ...path] });
    expect(faultsOf({ address: 40_001 })).toEqual([at('address')]);
    expect(faultsOf({ address: 40_001 })).toMatchObject([
      { problem: hint, expected: expect.stringContaining('wire, 0') },
    ]);
    expect(faultsOf({ address: undefined, registers: row })).toEqual([
      at('registers', 0, 'address'),
      at('registers', 1, 'address'),
    ]);
    expect(faultsOf({ address: 40_000 })).toEqual([]);
    const refused = async (): Promise<never> => {
      throw refusal('hardware/modbus-exception', 'the Modbus unit refused: illegal data address');
    };
    const empty: ModbusLink = Object.assign(Object.create(link), { writeRegisters: refused, ranked: () => empty });
    const nothing = { open: async () => empty } as Partial<ModbusPort> as ModbusPort;
    const meant = "illegal data address: a manual's 40101 is address 100 on the wire";
    for (const changes of [{ address: 40_101 }, { address: undefined, registers: [{ ...ROW, address: 40_101 }] }]) {
      const driver = await open(config(changes), { modbus: nothing });
      await expect(driver.write(1, never)).rejects.toMatchObject({
        code: 'hardware/modbus-exception',
        message: expect.stringContaining(meant),
      });
    }
  });

  it('has its old value again when a register that refuses another one refuses that too', async () => {
    let refuses: unknown;
    const written: unknown[] = [];
    const strict: ModbusLink = Object.assign(Object.create(link), {
      ranked: () => strict,
      writeRegisters: async (_unit: number, address: number, words: readonly number[]) => {
        if (address === refuses)
          throw refusal('hardware/modbus-exception', 'the Modbus unit refused: illegal function');
        written.push([address, ...words]);
      },
    });
    const row = [
      { ...ROW, address: 40 },
      { ...ROW, address: 41 },
    ];
    const changes = { address: undefined, registers: row, readBack: false };
    const driver = await open(config(changes), {
      modbus: { open: async () => strict } as Partial<ModbusPort> as ModbusPort,
    });
    await driver.write(4, never);
    refuses = 41;
    await expect(driver.write(6, never)).rejects.toMatchObject({ code: 'actuators/half-written' });
    await driver.write(4, never);
    expect(written).toEqual([
      [40, 4],
      [41, 4],
      [40, 6],
      [40, 4],
    ]);
    // A later write is no writing back.
    await expect(driver.write(4, never)).rejects.toMatchObject({ code: 'actuators/half-written' });
    await expect(driver.write(6, never)).rejects.toMatchObject({ code: 'actuators/half-written' });
  });

  it('goes before the readings on its line, and when it switches off before everything', async () => {
    for (const table of ['coil', 'holding'] as const) {
      const driver = await open(config({ table, type: 'bool' }), { modbus });
      await driver.write(true, never);
      await driver.write(false, never);
      await driver.read?.(never);
    }
    expect(ranks).toEqual(['movement', 'off', 'movement', 'movement', 'off', 'movement']);
  });

  it('writes what its register means, and reads back what was wanted where the register rounds', async () => {
    const driver = await open(config({ scale: 0.1, offset: -10 }), { modbus });
    await driver.write(21.37, never);
    expect([registers.get(40), await driver.read?.(never)]).toEqual([314, 21.37]);
    registers.set(40, 0xffff);
    expect(await driver.read?.(never)).toBe(-10.1);
    await expect(driver.write(1e6, never)).rejects.toMatchObject({ code: 'hardware/modbus-no-number' });
  });

  it.each([
    [0.1, -0.3, 3],
    [0.1, -273.15, 2_731],
    [0.1, 0.04, 0],
  ])(
    'is off where its register is that of off, whoever has written it, with a scale of %d and an offset of %d',
    async (scale, offset, raw) => {
      const driver = await open(config({ scale, offset }), { modbus });
      await driver.write(0, never);
      expect([registers.get(40), await driver.read?.(never)]).toEqual([raw, 0]);
      const afterRestart = await open(config({ scale, offset }), { modbus });
      expect(await afterRestart.read?.(never)).toBe(0);
      await driver.write(50, never);
      registers.set(40, raw);
      expect(await driver.read?.(never)).toBe(0);
      registers.set(40, raw + 1);
      expect(await driver.read?.(never)).not.toBe(0);
    },
  );

  it('has no off where no register means 0', async () => {
    const driver = await open(config({ offset: 40_000 }), { modbus });
    await driver.write(40_007, never);
    expect([registers.get(40), await driver.read?.(never)]).toEqual([7, 40_007]);
  });

  it('writes long numbers in the maker’s order', async () => {
    const driver = await open(config({ type: 'float32', wordOrder: 'little' }), { modbus });
    await driver.write(1.5, never);
    // IEEE 754: 1.5 is 3FC00000h.
    expect([registers.get(40), registers.get(41), await driver.read?.(never)]).toEqual([0, 0x3fc0, 1.5]);
  });

  it('switches a coil, and a register that holds a bit', async () => {
    const coil = await open(config({ table: 'coil' }), { modbus });
    await coil.write(true, never);
    expect([coils.get(40), await coil.read?.(never)]).toEqual([true, true]);
    const bit = await open(config({ type: 'bool' }), { modbus });
    await bit.write(true, never);
    expect([registers.get(40), await bit.read?.(never)]).toEqual([1, true]);
    registers.set(40, 0);
    expect(await bit.read?.(never)).toBe(false);
  });

  it('believes what a register shows when one word of it is not as it was written', async () => {
    const driver = await open(config({ type: 'float32' }), { modbus });
    await driver.write(1.5, never);
    registers.set(40, 0x4020);
    // IEEE 754: 40200000h is 2.5.
    expect(await driver.read?.(never)).toBe(2.5);
    await driver.write(1.5, never);
    registers.set(41, 1);
    expect(await driver.read?.(never)).toBeGreaterThan(1.5);
  });

  it('switches a coil off, and gives its link back', async () => {
    const closings: string[] = [];
    const counted = {
      open: async () => ({ ...link, close: async () => void closings.push('') }),
    } as Partial<ModbusPort> as ModbusPort;
    const coil = await open(config({ table: 'coil' }), { modbus: counted });
    coils.set(40, true);
    await coil.write(false, never);
    expect([coils.get(40), await coil.read?.(never)]).toEqual([false, false]);
    await coil.close();
    expect(closings.length).toBe(1);
  });

  it('is not read back where that is not wanted', async () => {
    expect((await open(config({ readBack: false }), { modbus })).read).toBeUndefined();
  });
});
