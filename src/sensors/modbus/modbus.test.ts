import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { AgentError } from '../../errors.ts';
import { parseRegisters } from '../../hardware/modbus-frames.ts';
import type { RegisterRange } from '../../hardware/modbus-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../sensor.ts';
import { open as openModbus } from './driver.ts';
import { pollingGroups } from './polling-groups.ts';
import { readingOf } from './register-request.ts';

const { signal } = new AbortController();
const registersOf = (registers: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  sensorConfig({ name: 'meter', kind: 'modbus', connection: { transport: 'tcp', host: 'meter.local' }, registers, ...more });

describe('pollingGroups', () => {
  const groupsOf = (registers: Readonly<Record<string, unknown>>, maxGap: number) => {
    const config = registersOf(registers);
    return pollingGroups(config.registers, maxGap).map(({ table, address, count, keys }) => `${table} ${address}+${count} ${keys.join()}`);
  };

  it('reads neighbours in one request, and what is far apart in another', () => {
    expect(
      groupsOf({ c: { address: 40 }, a: { address: 10, type: 'float32' }, b: { address: 14 }, d: { address: 10, table: 'input' } }, 8),
    ).toEqual(['holding 10+5 a,b', 'holding 40+1 c', 'input 10+1 d']);
  });

  it('keeps them apart when no gap is allowed, but joins those that touch or overlap', () => {
    expect(
      groupsOf({ a: { address: 0, type: 'uint32' }, b: { address: 2 }, c: { address: 4 }, d: { address: 4, type: 'bool', bit: 3 } }, 0),
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
    expect(readingOf('power', config.registers.power as never, [0xffff])).toEqual({ key: 'power', value: 4.9, unit: 'W' });
    const plain = registersOf({ energy: { address: 0, type: 'uint64' } });
    expect(readingOf('energy', plain.registers.energy as never, [0x20, 0, 0, 1])).toEqual({ key: 'energy', value: 9007199254740993n });
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
      if (type.startsWith('float')) expect(value).toBe(Number(printed));
      else expect(String(value)).toBe(printed);
    }
    expect(cases.length).toBeGreaterThan(150);
  });

  it('is outside of its limits after scaling', () => {
    expect(() => read({ type: 'int16', scale: 0.1, max: 100 }, [1_001])).toThrow(/outside/);
    expect(read({ type: 'int16', scale: 0.1, max: 100 }, [1_000]).value).toBe(100);
  });
});

describe('a register that the unit cannot give', () => {
  /** What each request for an address throws; the rest reads 230. */
  let faults: Map<number, () => unknown>;
  let asked: string[];
  /** Throws when an answer gets lost, whatever was asked. */
  let noise: () => void | Promise<void>;
  let clock: FakeClock;
  const refusal = (code: number) => () => parseRegisters(Uint8Array.of(0x83, code), 3, 1);
  const silence = () => {
    throw new AgentError('hardware/deadline', 'no answer', { recovery: 'retry' });
  };
  const meter = async (registers: Readonly<Record<string, unknown>>): Promise<Sensor> => {
    const link = {
      readRegisters: async (_unit: number, { address, count }: RegisterRange) => {
        asked.push(`${address}+${count}`);
        await noise();
        for (const [at, fail] of faults) if (at >= address && at < address + count) fail();
        return Array.from({ length: count }, () => 230);
      },
    };
    const ports = { modbus: { open: async () => link } } as unknown as Ports; // the only port that it asks
    const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/state' };
    return await openModbus(registersOf(registers, { maxGap: 4 }), deps, signal);
  };
  const read = async (sensor: Sensor): Promise<readonly string[]> => {
    asked = [];
    return (await sensor.read(signal)).map(({ key }) => key);
  };
  const apart = { probe: { address: 100 }, power: { address: 200 }, voltage: { address: 300 } };
  const joined = { probe: { address: 0 }, power: { address: 1 }, voltage: { address: 2 } };
  beforeEach(() => {
    faults = new Map();
    noise = () => {};
    clock = new FakeClock();
    asked = [];
  });

  it.each([2, 4, 8])('costs only itself when it is refused with exception %i', async (code) => {
    faults.set(100, refusal(code));
    const alone = await meter(apart);
    expect(await read(alone)).toEqual(['power', 'voltage']);
    expect(alone.refused?.()).toMatchObject([{ key: 'probe', fault: { code: 'hardware/modbus-exception' } }]);
    faults = new Map([[0, refusal(code)]]);
    const beside = await meter(joined);
    for (let at = 0; at < 6; at += 1) expect(await read(beside)).toEqual(['power', 'voltage']);
    expect(asked.toSorted()).toEqual(['0+1', '1+2']);
  });

  it.each([
    ['gateway has no answer (10)', refusal(10)],
    ['gateway has no answer (11)', refusal(11)],
    ['unit stays silent', silence],
  ])('costs one read, and then only itself, when the %s', async (_what, fail) => {
    faults.set(100, fail);
    const sensor = await meter(apart);
    await expect(read(sensor)).rejects.toMatchObject({ recovery: 'retry' });
    expect(asked).toEqual(['100+1', '100+1']);
    for (let at = 0; at < 2; at += 1) expect(await read(sensor)).toEqual(['power', 'voltage']);
    faults.clear();
    expect(await read(sensor)).toEqual(['probe', 'power', 'voltage']);
    expect(asked).toEqual(['200+1', '300+1', '100+1']);
  });

  it('is the unit as a whole when nothing is given, and costs no more requests when that has passed', async () => {
    for (const fail of [refusal(4), refusal(11), silence]) {
      faults = new Map([0, 1, 2].map((at) => [at, fail]));
      const sensor = await meter(joined);
      await expect(read(sensor)).rejects.toMatchObject({ recovery: 'retry' });
      faults.clear();
      expect(await read(sensor)).toEqual(['probe', 'power', 'voltage']);
      expect(asked).toEqual(['0+3']);
    }
  });

  it('is none of a request that was not answered once: its registers are asked for together again', async () => {
    const sensor = await meter({ ...joined, frequency: { address: 300 } });
    const silentOnce = () => {
      faults.delete(0);
      silence();
    };
    faults.set(0, silentOnce);
    expect(await read(sensor)).toEqual(['probe', 'power', 'voltage', 'frequency']);
    expect(asked).toEqual(['0+3', '0+3', '300+1']);
    faults.set(0, () => faults.set(0, silentOnce) && silence());
    await expect(read(sensor)).rejects.toMatchObject({ code: 'hardware/deadline' });
    expect(asked).toEqual(['0+3', '0+3']);
    faults.set(0, silentOnce);
    expect(await read(sensor)).toEqual(['probe', 'power', 'voltage', 'frequency']);
    expect(asked).toEqual(['300+1', '0+3', '0+2', '2+1']);
    for (let at = 0; at < 5; at += 1) expect(await read(sensor)).toEqual(['probe', 'power', 'voltage', 'frequency']);
    expect(asked).toHaveLength(2);
  });

  it('is the unit, which is asked once a read for as long as it is off: others wait for the line', async () => {
    const sensor = await meter({ probe: { address: 100 } });
    const offFor = async (reads: number): Promise<readonly number[]> => {
      const requests: number[] = [];
      faults.set(100, silence);
      for (let at = 0; at < reads; at += 1) {
        await expect(read(sensor)).rejects.toMatchObject({ code: 'hardware/deadline' });
        requests.push(asked.length);
      }
      faults.clear();
      expect(await read(sensor)).toEqual(['probe']);
      return requests;
    };
    expect(await offFor(4)).toEqual([2, 1, 1, 1]);
    expect(await offFor(2)).toEqual([2, 1]);
  });

  it('is asked for once a read, alone, when it is silent among others, and when nobody asked for what is refused between them', async () => {
    const among = await meter({ frequency: { address: 0 }, probe: { address: 100 }, power: { address: 101 } });
    faults.set(100, silence);
    for (let at = 0; at < 3; at += 1) expect(await read(among)).toEqual(['frequency', 'power']);
    expect(asked.toSorted()).toEqual(['0+1', '100+1', '101+1']);
    faults = new Map([[1, refusal(2)]]);
    const between = await meter({ probe: { address: 0 }, power: { address: 2 } });
    for (let at = 0; at < 2; at += 1) expect(await read(between)).toEqual(['probe', 'power']);
    expect(asked).toEqual(['0+1', '2+1']);
  });

  it('is not a register whose value is none: a failure that has passed parts no request because of it', async () => {
    const sensor = await meter({ ...joined, power: { address: 1, max: 100 } });
    faults.set(0, () => {
      faults.delete(0);
      refusal(4)();
    });
    for (let at = 0; at < 2; at += 1) expect(await read(sensor)).toEqual(['probe', 'voltage']);
    expect(asked).toEqual(['0+3']);
  });

  it('is none of a garbled answer: that request too is asked once more', async () => {
    const sensor = await meter({ frequency: { address: 300 }, power: { address: 400 } });
    faults.set(400, () => {
      faults.delete(400);
      parseRegisters(Uint8Array.of(3, 1, 0), 3, 1);
    });
    expect(await read(sensor)).toEqual(['frequency', 'power']);
    expect(asked).toEqual(['300+1', '400+1', '400+1']);
  });

  const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`r${at}`, { address: 100 + at }]));

  it('costs only itself among many, in few requests, and they are one again when it answers', async () => {
    for (const fail of [silence, refusal(4), refusal(11)]) {
      const sensor = await meter({ frequency: { address: 0 }, ...many });
      faults.set(117, fail);
      for (let at = 0; at < 10; at += 1) await read(sensor);
      for (let at = 0; at < 200; at += 1) {
        expect(await read(sensor)).toHaveLength(40);
        expect(asked.length).toBeLessThanOrEqual(20);
      }
      expect(asked.length).toBeLessThanOrEqual(9);
      faults.clear();
      for (let at = 0; at < 100; at += 1) expect(await read(sensor)).toHaveLength(41);
      await read(sensor);
      expect(asked.toSorted()).toEqual(['0+1', '100+40']);
    }
  });

  it.each([
    ['the only request', {}],
    ['one of two requests', { frequency: { address: 0 } }],
  ])('is found in %s although a read has time for one silence only', async (_what, others) => {
    for (const dead of [100, 117, 139]) {
      const sensor = await meter({ ...others, ...many });
      const given: number[] = [];
      for (let at = 0; at < 12; at += 1) {
        const late = new AbortController();
        let silent = 0;
        faults = new Map([
          [
            dead,
            () => {
              silent += 1;
              if (silent > 1) late.abort();
              silence();
            },
          ],
        ]);
        given.push((await sensor.read(late.signal).catch(() => [])).length);
      }
      // After three failures in a row it would be opened anew, and know nothing.
      expect(given.slice(0, 3).some((count) => count > 0)).toBe(true);
      expect(given.slice(3).every((count) => count > 0)).toBe(true);
      expect(given.at(-1)).toBe(39 + Object.keys(others).length);
    }
  });

  it('is seldom one on a noisy line: less is missing than if each lost answer cost its read', async () => {
    for (const loss of [0.02, 0.05, 0.1]) {
      let [random, missing] = [7, 0];
      const sensor = await meter({ frequency: { address: 0 }, ...many });
      noise = () => {
        random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
        if (random / 2_147_483_648 < loss) silence();
      };
      for (let at = 0; at < 1_000; at += 1) missing += 41 - (await read(sensor).catch(() => [])).length;
      expect(missing / 41_000).toBeLessThan(1.5 * loss);
    }
  });

  it('does not take what has answered with it when the time for the whole read has passed', async () => {
    const late = new AbortController();
    faults.set(200, () => {
      late.abort();
      silence();
    });
    const sensor = await meter(apart);
    expect((await sensor.read(late.signal)).map(({ key }) => key)).toEqual(['probe']);
    expect(sensor.refused?.()).toMatchObject([
      { key: 'power', fault: { code: 'hardware/deadline' } },
      { key: 'voltage', fault: { code: 'hardware/deadline', message: 'meter: its time was over before this was given' } },
    ]);
    expect(asked).toEqual(['100+1', '200+1']);
    faults.clear();
    expect(await read(sensor)).toEqual(['probe', 'power', 'voltage']);
    expect(asked).toEqual(['300+1', '100+1', '200+1']);
  });

  it('is not looked for when the time for the read has passed, which parts nothing', async () => {
    const sensor = await meter({ ...joined, frequency: { address: 300 } });
    const readUntilSilent = async (): Promise<readonly string[]> => {
      const late = new AbortController();
      faults.set(0, () => {
        late.abort();
        silence();
      });
      asked = [];
      return (await sensor.read(late.signal).catch(() => [])).map(({ key }) => key);
    };
    expect(await readUntilSilent()).toEqual([]);
    expect(await readUntilSilent()).toEqual(['frequency']);
    expect(asked).toEqual(['300+1', '0+3']);
    faults.clear();
    for (let at = 0; at < 6; at += 1) expect(await read(sensor)).toEqual(['probe', 'power', 'voltage', 'frequency']);
    expect(asked).toEqual(['300+1', '0+3']);
    for (let at = 0; at < 2; at += 1) expect(await readUntilSilent()).toEqual(['frequency']);
    expect(await readUntilSilent()).toEqual(['frequency']);
    expect(asked).toEqual(['300+1', '0+2']);
  });

  it('is none of what a read of a slow unit on a noisy line had no time for: that is asked for together again', async () => {
    const sensor = await meter(
      Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`r${at}`, { address: 100 * Math.floor(at / 10) + (at % 10) }])),
    );
    let [random, given] = [7, 0];
    for (let at = 0; at < 500; at += 1) {
      const late = new AbortController();
      let leftMs = 2_000;
      noise = () => {
        random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
        const isLost = random / 2_147_483_648 < 0.02;
        leftMs -= isLost ? 1_000 : 240;
        if (leftMs < 0) late.abort();
        if (isLost || leftMs < 0) silence();
      };
      given += (await sensor.read(late.signal).catch(() => [])).length;
    }
    expect(given / 500).toBeGreaterThan(80 / 2);
  });

  it('is none of a slow unit that a read has no time to ask for everything: each has its turn, and its registers stay together', async () => {
    const sensor = await meter(Object.fromEntries([0, 1, 100, 101, 200, 201].map((address) => [`r${address}`, { address }])));
    const given: (readonly string[])[] = [];
    for (let at = 0; at < 6; at += 1) {
      const late = new AbortController();
      let leftMs = 1_000;
      noise = async () => {
        await clock.advance(Math.min(400, leftMs));
        leftMs -= 400;
        if (leftMs >= 0) return;
        late.abort();
        silence();
      };
      asked = [];
      given.push((await sensor.read(late.signal)).map(({ key }) => key));
      expect(asked.toSorted()).toEqual(['0+2', '100+2', '200+2']);
    }
    for (const key of ['r0', 'r100', 'r201']) expect(given.filter((keys) => keys.includes(key))).toHaveLength(4);
  });

  it('is asked for once a read with all its bits, when it is refused or silent', async () => {
    const bits = Object.fromEntries(Array.from({ length: 16 }, (_, bit) => [`b${bit}`, { address: 500, type: 'bool', bit }]));
    for (const fail of [refusal(2), silence]) {
      const sensor = await meter({ ...joined, ...bits });
      faults = new Map([[500, fail]]);
      for (let at = 0; at < 6; at += 1) expect(await read(sensor)).toEqual(['probe', 'power', 'voltage']);
      expect(asked).toEqual(['0+3', '500+1']);
      expect(sensor.refused?.()).toHaveLength(16);
      faults.clear();
      expect(await read(sensor)).toHaveLength(19);
    }
  });

  it('is the unit as a whole when the time has passed before anything has answered', async () => {
    const late = new AbortController();
    late.abort();
    faults = new Map([100, 200, 300].map((at) => [at, silence]));
    const sensor = await meter(apart);
    await expect(sensor.read(late.signal)).rejects.toMatchObject({ code: 'hardware/deadline' });
    expect(asked).toEqual([]);
  });

  it.each([2, 3])('costs only itself where there are %i, although a read has time for two silences only', async (dead) => {
    const registers = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`r${at}`, { address: 100 * at }]));
    const sensor = await meter(registers);
    const given = new Set<string>();
    for (let at = 0; at < 20; at += 1) {
      const late = new AbortController();
      let silent = 0;
      const lateSilence = () => {
        silent += 1;
        if (silent > 1) late.abort();
        silence();
      };
      faults = new Map([1, 3, 4].slice(0, dead).map((which) => [100 * which, lateSilence]));
      // By and by others are noisy for a moment.
      if (at % 7 === 3) faults.set(200, lateSilence);
      const keys = (await sensor.read(late.signal).catch(() => [])).map(({ key }) => key);
      if (at > 10) for (const key of ['r0', 'r5']) expect(keys).toContain(key);
      for (const key of keys) given.add(key);
      if (at % 7 === 6) expect(keys).toContain('r2');
    }
    expect([...given].toSorted()).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5'].filter((_, at) => ![1, 3, 4].slice(0, dead).includes(at)));
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
    bench = await openBoardBench((folder) => ({ serial: [{ port: join(folder, 'rs485'), talk: { kind: 'modbus', units } }] }));
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
    const sensor = await openModbus(registersOf({ nothing: { address: 500 } }, { unitId: 7 }), sensorDeps(bench), signal);
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
      voltage: { address: 2, max: 2_000 },
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
        ['voltage', 'sensors/out-of-range'],
        ['absent', 'hardware/modbus-exception'],
      ]);
    }
    await sensor.close();
  });
});
