import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { forRandomBytes } from '../../../test/support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { type Ds18b20Config, ds18b20 } from './definition.ts';
import { open as openDs18b20, parseW1Slave } from './driver.ts';

const { signal } = new AbortController();

/** The kernel's text for a scratchpad. */
function text(scratchpad: readonly number[], crc = crc8(scratchpad), verdict = 'YES'): string {
  const hex = [...scratchpad, crc].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return `${hex} : crc=${crc.toString(16).padStart(2, '0')} ${verdict}\n${hex} t=0\n`;
}

/** Bit by bit, apart from the driver's own. */
function crc8(bytes: readonly number[]): number {
  let crc = 0;
  for (let byte of bytes) {
    for (let bit = 0; bit < 8; bit += 1) {
      const mix = (crc ^ byte) & 1;
      crc >>= 1;
      if (mix) crc ^= 0x8c;
      byte >>= 1;
    }
  }
  return crc;
}

describe('parseW1Slave', () => {
  // DS18B20 data sheet 19-7487, rev 6, table 1 "Temperature/Data Relationship".
  it('agrees with the table of the data sheet', () => {
    const table = {
      '07D0': 125,
      '0550': 85,
      '0191': 25.0625,
      '00A2': 10.125,
      '0008': 0.5,
      '0000': 0,
      FFF8: -0.5,
      FF5E: -10.125,
      FE6F: -25.0625,
      FC90: -55,
    };
    for (const [hex, celsius] of Object.entries(table)) {
      const word = Number.parseInt(hex, 16);
      expect(parseW1Slave(text([word & 0xff, word >> 8, 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10])).celsius).toBe(celsius);
    }
  });

  // Linux, Documentation/w1/slaves/w1_therm.rst: a real chip's answer, t=23125.
  it('agrees with the kernel on a real chip', () => {
    expect(parseW1Slave('72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n').celsius).toBe(
      23.125,
    );
  });

  it('drops the bits that a coarser resolution leaves undefined', () => {
    expect(parseW1Slave(text([0x97, 0x01, 0x4b, 0x46, 0x1f, 0xff, 0x0c, 0x10])).celsius).toBe(25);
  });

  it('refuses a wrong check sum, whatever the kernel says of it, and a bus that is held low', () => {
    expect(() => parseW1Slave('72 01 4b 46 7f ff 0e 10 58 : crc=58 YES\n')).toThrow(/check sum/);
    expect(() => parseW1Slave('72 01 4b 46 7f ff 0e 10 57 : crc=11 NO\n')).toThrow(/check sum/);
    expect(() => parseW1Slave('00 00 00 00 00 00 00 00 00 : crc=00 YES\n')).toThrow(/held low/);
    expect(() => parseW1Slave('')).toThrow(/not the text/);
  });

  it('answers any text with a temperature of its range or an AgentError', () => {
    let good = 0;
    forRandomBytes(100_000, 9, (bytes, random) => {
      const scratchpad = [...bytes.subarray(0, 8)];
      const kind = random();
      const value = parseW1Slave(
        kind < 0.6 ? text(scratchpad) : kind < 0.8 ? text(scratchpad, bytes[8]) : bytes.toString('latin1'),
      ).celsius;
      if (!(value >= -55 && value <= 125)) throw new Error(`${value} was reported as good`);
      good += 1;
    });
    expect(good).toBeGreaterThan(500);
  });
});

describe('a DS18B20 on the board', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());
  const board = (celsius: number, ...ids: readonly string[]) =>
    openBoardBench(() => ({ oneWire: ids.map((id) => ({ id, signal: { kind: 'constant', value: celsius } })) }));

  it('is found by itself when it is the only one, and read as the board showed it', async () => {
    bench = await board(-7.3, '28-0316a2794aff');
    const sensor = await openDs18b20(sensorConfig({ name: 'pipe', kind: 'ds18b20' }), sensorDeps(bench), signal);
    expect(await sensor.read(signal)).toEqual([{ key: 'temperature', value: -7.3125, unit: '°C' }]);
    expect((await bench.record()).at(-1)).toMatchObject({ kind: 'shown', key: 'temperature', value: -7.3125 });
    bench.board.bench.fault('28-0316a2794aff', 'unplug');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/one-wire-no-slave' });
    bench.board.bench.fault('28-0316a2794aff', 'garbage');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/bad-reading' });
  });

  it('must be named among several', async () => {
    bench = await board(20, '28-0316a2794aff', '28-0316a2794afe');
    await expect(
      openDs18b20(sensorConfig({ name: 'pipe', kind: 'ds18b20' }), sensorDeps(bench), signal),
    ).rejects.toThrow(/give one of them as id: 28-0316a2794afe, 28-0316a2794aff/);
  });

  it('tells a true 85 °C from the power-on value, however often either comes', async () => {
    bench = await board(21, '28-0316a2794aff');
    const sensor = await openDs18b20(sensorConfig({ name: 'boiler', kind: 'ds18b20' }), sensorDeps(bench), signal);
    await sensor.read(signal);
    bench.board.bench.fault('28-0316a2794aff', 'brown-out');
    for (let at = 0; at < 3; at += 1) await expect(sensor.read(signal)).rejects.toThrow(/power-on value/);
    bench.board.bench.fault('28-0316a2794aff', null);
    bench.board.bench.hold('28-0316a2794aff', 85);
    expect(await sensor.read(signal)).toMatchObject([{ value: 85 }]);
  });

  /** A sensor whose chip shows what it is told: a temperature, and byte 6. */
  async function shown() {
    bench = await board(21, '28-0316a2794aff');
    let scratchpad: readonly number[] = [];
    const slave = { ...bench.ports.oneWire, readSlave: async () => text(scratchpad) };
    const deps = { ...sensorDeps(bench), ports: { ...bench.ports, oneWire: slave } };
    const sensor = await openDs18b20(
      sensorConfig({ name: 'boiler', kind: 'ds18b20', id: '28-0316a2794aff' }),
      deps,
      signal,
    );
    const show = (celsius: number, mark: number): Promise<unknown> => {
      scratchpad = [(celsius * 16) & 0xff, (celsius * 16) >> 8, 0x4b, 0x46, 0x7f, 0xff, mark, 0x10];
      return sensor.read(signal);
    };
    return { show };
  }

  it('believes 85 °C of a chip that marks nothing only after a reading close to it', async () => {
    const { show } = await shown();
    await expect(show(85, 0xff)).rejects.toThrow(/power-on value/);
    await show(21, 0xff);
    for (let at = 0; at < 3; at += 1) await expect(show(85, 0xff)).rejects.toThrow(/power-on value/);
    await show(84.5, 0xff);
    expect(await show(85, 0xff)).toMatchObject([{ value: 85 }]);
    await expect(show(85, 0x0c)).rejects.toThrow(/power-on value/);
  });

  it('does not believe the mark of a chip that shows it beside any value, but a reading close to 85 °C', async () => {
    const { show } = await shown();
    // 0x0c is what the maker's chips say for every quarter of a degree as well: that proves nothing.
    await show(84.25, 0x0c);
    await expect(show(85, 0x0c)).rejects.toThrow(/power-on value/);
    await show(84.5, 0x0c);
    for (let at = 0; at < 3; at += 1) expect(await show(85, 0x0c)).toMatchObject([{ value: 85 }]);
    await show(85.5, 0x0c);
    await show(21, 0x0c);
    await expect(show(85, 0x0c)).rejects.toThrow(/power-on value/);
  });
});

it('needs an id only beside another thermometer', () => {
  const placed = (...ids: (string | undefined)[]) =>
    ids.map((id, at) => ({
      config: { kind: 'ds18b20', ...(id !== undefined && { id }) } as Ds18b20Config,
      path: ['sensors', at],
    }));
  const problems = (...ids: (string | undefined)[]) =>
    ds18b20.faultsAmong?.(placed(...ids)).map(({ problem }) => problem);
  expect(problems(undefined)).toEqual([]);
  expect(problems(undefined, '28-000000000001')).toEqual(['no id, and several thermometers:']);
  expect(problems('28-000000000001', '28-000000000001')).toEqual(['two sensors on one thermometer:']);
});
