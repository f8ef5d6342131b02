import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { AgentError } from '../../errors/agent-error.ts';
import { parseRegisters } from '../../hardware/modbus-pdu.ts';
import type { RegisterRange } from '../../hardware/modbus-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import { open as openModbus } from './driver.ts';

const { signal } = new AbortController();
const registersOf = (registers: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  sensorConfig({
    name: 'meter',
    kind: 'modbus',
    connection: { transport: 'tcp', host: 'meter.local' },
    registers,
    ...more,
  });

describe('a register that the unit cannot give', () => {
  /** Errors that requests throw, by address; the rest reads 230. */
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
    const sensor = await meter({ ...joined, power: { address: 1, noValue: 230 } });
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
      // After three failures in a row it would be opened again, and know nothing.
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
      {
        key: 'voltage',
        fault: {
          code: 'hardware/deadline',
          message: expect.stringMatching(/deadline was over .* a longer deadline and period, or fewer requests/),
        },
      },
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
      Object.fromEntries(
        Array.from({ length: 80 }, (_, at) => [`r${at}`, { address: 100 * Math.floor(at / 10) + (at % 10) }]),
      ),
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
    const sensor = await meter(
      Object.fromEntries([0, 1, 100, 101, 200, 201].map((address) => [`r${address}`, { address }])),
    );
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
    const bits = Object.fromEntries(
      Array.from({ length: 16 }, (_, bit) => [`b${bit}`, { address: 500, type: 'bool', bit }]),
    );
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

  it.each([2, 3])(
    'costs only itself where there are %i, although a read has time for two silences only',
    async (dead) => {
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
      expect([...given].toSorted()).toEqual(
        ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'].filter((_, at) => ![1, 3, 4].slice(0, dead).includes(at)),
      );
    },
  );
});
