/** Values in the registers of a unit, and a meter on the simulated board. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { open as openModbus } from './driver.ts';
import { pollingGroups, readingOf } from './polling-groups.ts';

const { signal } = new AbortController();
const registersOf = (registers: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  sensorConfig({
    name: 'meter',
    kind: 'modbus',
    connection: { transport: 'tcp', host: 'meter.local' },
    registers,
    ...more,
  });

describe('pollingGroups', () => {
  const groupsOf = (registers: Readonly<Record<string, unknown>>, maxGap: number) => {
    const config = registersOf(registers);
    return pollingGroups(config.registers, maxGap).map(
      ({ table, address, count, keys }) => `${table} ${address}+${count} ${keys.join()}`,
    );
  };

  it('reads neighbours in one request, and what is far apart in another', () => {
    expect(
      groupsOf(
        {
          c: { address: 40 },
          a: { address: 10, type: 'float32' },
          b: { address: 14 },
          d: { address: 10, table: 'input' },
        },
        8,
      ),
    ).toEqual(['holding 10+5 a,b', 'holding 40+1 c', 'input 10+1 d']);
  });

  it('keeps them apart when no gap is allowed, but joins those that touch or overlap', () => {
    expect(
      groupsOf(
        {
          a: { address: 0, type: 'uint32' },
          b: { address: 2 },
          c: { address: 4 },
          d: { address: 4, type: 'bool', bit: 3 },
        },
        0,
      ),
    ).toEqual(['holding 0+3 a,b', 'holding 4+1 c,d']);
  });

  it('asks for no more than a request may', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`r${at}`, { address: at }]));
    const sizes = pollingGroups(registersOf(many).registers, 8).map(({ count }) => count);
    expect(sizes).toEqual([125, 125, 50]);
  });
});

describe('readingOf', () => {
  it('scales, and keeps the noise of binary fractions out', () => {
    const config = registersOf({ power: { address: 0, type: 'int16', scale: 0.1, offset: 5, unit: 'W' } });
    expect(readingOf('power', config.registers.power as never, [0xffff])).toEqual({
      key: 'power',
      value: 4.9,
      unit: 'W',
    });
    const plain = registersOf({ energy: { address: 0, type: 'uint64' } });
    expect(readingOf('energy', plain.registers.energy as never, [0x20, 0, 0, 1])).toEqual({
      key: 'energy',
      value: 9007199254740993n,
    });
  });
});

describe('a register without a value', () => {
  const read = (register: Readonly<Record<string, unknown>>, words: readonly number[]) =>
    readingOf('x', registersOf({ x: { address: 0, ...register } }).registers.x as never, words);

  // SunSpec Information Model Specification, version 1.9, table "Unimplemented": int16 8000h, uint16 FFFFh, uint32 FFFFFFFFh, float32 NaN.
  it('is told by the mark that its table names, and by NaN', () => {
    expect(() => read({ type: 'int16', noValue: 0x8000 }, [0x8000])).toThrow(/there is no x/);
    expect(() => read({ type: 'uint16', noValue: 0xffff, scale: 0.1 }, [0xffff])).toThrow(/there is no x/);
    expect(() => read({ type: 'uint32', noValue: -1 }, [0xffff, 0xffff])).toThrow(/there is no x/);
    expect(() => read({ type: 'float32' }, [0x7fc0, 0])).toThrow(/no number/);
    expect(() => read({ type: 'float32', wordOrder: 'little' }, [0xffff, 0xff7f])).toThrow(/no number/);
    expect(() => read({ type: 'float32' }, [0x7f7f, 0xffff])).toThrow(/no number/);
    expect(read({ type: 'float32' }, [0x7f7f, 0xfffe]).value).toBeCloseTo(3.4028233e38, -32);
    expect(read({ type: 'int16' }, [0x8000]).value).toBe(-32768);
    expect(read({ type: 'uint16', noValue: 0xffff }, [0xfffe]).value).toBe(0xfffe);
  });

  it('is otherwise the number that the struct module of Python reads there, in every order', async () => {
    const { cases } = JSON.parse(
      await readFile(join(import.meta.dirname, '../../../test/fixtures/sensors/modbus-python-struct.json'), 'utf8'),
    ) as {
      readonly cases: readonly (readonly [string, string, string, readonly number[], string])[];
    };
    for (const [type, wordOrder, byteOrder, words, printed] of cases) {
      const { value } = read({ type, wordOrder, byteOrder }, words);
      if (type === 'float64') expect(value).toBe(Number(printed));
      else if (type === 'float32') expect(Math.fround(Number(value))).toBe(Number(printed));
      else expect(String(value)).toBe(printed);
    }
    expect(cases.length).toBeGreaterThan(150);
  });
});

describe('a meter on the board', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());

  const constant = (value: number) => ({ kind: 'constant' as const, value });
  const units = {
    '7': {
      holding: { '0': constant(0x4248), '1': constant(0x0000), '2': constant(2301), '9': constant(0xfff6) },
      input: { '100': constant(77) },
      coil: { '3': constant(1) },
      discrete: { '0': constant(0) },
    },
  };
  const registers = {
    frequency: { address: 0, type: 'float32', unit: 'Hz' },
    voltage: { address: 2, scale: 0.1, unit: 'V' },
    temperature: { address: 9, type: 'int16' },
    counter: { table: 'input', address: 100 },
    pump: { table: 'coil', address: 3 },
    alarm: { table: 'discrete', address: 0 },
  };
  const expected = [
    { key: 'frequency', value: 50, unit: 'Hz' },
    { key: 'voltage', value: 230.1, unit: 'V' },
    { key: 'temperature', value: -10 },
    { key: 'counter', value: 77 },
    { key: 'pump', value: true },
    { key: 'alarm', value: false },
  ];

  it('is read over a real pty, again after it was silent, and after its port was unplugged', async () => {
    bench = await openBoardBench((folder) => ({
      serial: [{ port: join(folder, 'rs485'), talk: { kind: 'modbus', units } }],
    }));
    const port = join(bench.folder, 'rs485');
    const connection = { transport: 'rtu', port, baudRate: 19_200, responseTimeout: '400ms' };
    const sensor = await openModbus(registersOf(registers, { connection, unitId: 7 }), sensorDeps(bench), signal);
    expect(await sensor.read(signal)).toEqual(expected);
    bench.board.bench.fault(`${port}:7`, 'hang');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/deadline', recovery: 'retry' });
    bench.board.bench.fault(`${port}:7`, null);
    expect(await sensor.read(signal)).toEqual(expected);
    bench.board.bench.fault(port, 'garbage');
    await expect(sensor.read(signal)).rejects.toMatchObject({ recovery: 'retry' });
    bench.board.bench.fault(port, null);
    expect(await sensor.read(signal)).toEqual(expected);
    await sensor.close();
  });

  it('is read over TCP, and again after the connection was lost', async () => {
    bench = await openBoardBench(() => ({ modbusTcp: [{ host: 'meter.local', port: 502, units }] }));
    const sensor = await openModbus(registersOf(registers, { unitId: 7 }), sensorDeps(bench), signal);
    expect(await sensor.read(signal)).toEqual(expected);
    await bench.restart();
    await sensor.read(signal).catch(() => {});
    expect(await sensor.read(signal)).toEqual(expected);
    await sensor.close();
  });

  it('says what the unit refuses', async () => {
    bench = await openBoardBench(() => ({ modbusTcp: [{ host: 'meter.local', port: 502, units }] }));
    const sensor = await openModbus(
      registersOf({ nothing: { address: 500 } }, { unitId: 7 }),
      sensorDeps(bench),
      signal,
    );
    await expect(sensor.read(signal)).rejects.toThrow(/refused: illegal data address/);
    const absent = await openModbus(
      registersOf({ x: { address: 0 } }, { connection: { transport: 'tcp', host: 'other.local' } }),
      sensorDeps(bench),
      signal,
    );
    await expect(absent.read(signal)).rejects.toMatchObject({ code: 'hardware/modbus-no-answer', recovery: 'retry' });
  });

  it('gives all that is good of a unit in which one register is none, and one is not there', async () => {
    bench = await openBoardBench(() => ({ modbusTcp: [{ host: 'meter.local', port: 502, units }] }));
    const some = {
      frequency: { address: 0, type: 'float32' },
      voltage: { address: 2, noValue: 2_301 },
      absent: { address: 3 },
      counter: { table: 'input', address: 100 },
    };
    const sensor = await openModbus(registersOf(some, { unitId: 7 }), sensorDeps(bench), signal);
    for (let at = 0; at < 2; at += 1) {
      expect(await sensor.read(signal)).toEqual([
        { key: 'frequency', value: 50 },
        { key: 'counter', value: 77 },
      ]);
      expect(sensor.refused?.().map(({ key, fault }) => [key, fault.code])).toEqual([
        ['voltage', 'sensors/no-value'],
        ['absent', 'hardware/modbus-exception'],
      ]);
    }
    await sensor.close();
  });
});
