import { afterEach, describe, expect, it } from 'vitest';
import { openDs18b20, parseW1Slave } from '../../../src/sensors/ds18b20.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { forRandomBytes } from '../../support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const signal = AbortSignal.timeout(60_000);

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
      expect(parseW1Slave(text([word & 0xff, word >> 8, 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10]))).toBe(celsius);
    }
  });

  // Linux, Documentation/w1/slaves/w1_therm.rst: a real chip's answer, t=23125.
  it('agrees with the kernel on a real chip', () => {
    expect(parseW1Slave('72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n')).toBe(23.125);
  });

  it('drops the bits that a coarser resolution leaves undefined', () => {
    expect(parseW1Slave(text([0x97, 0x01, 0x4b, 0x46, 0x1f, 0xff, 0x0c, 0x10]))).toBe(25);
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
      const value = parseW1Slave(kind < 0.6 ? text(scratchpad) : kind < 0.8 ? text(scratchpad, bytes[8]) : bytes.toString('latin1'));
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
    await expect(openDs18b20(sensorConfig({ name: 'pipe', kind: 'ds18b20' }), sensorDeps(bench), signal)).rejects.toThrow(
      /give one of them as id: 28-0316a2794afe, 28-0316a2794aff/,
    );
  });

  it('does not report the power-on value of 85 °C, unless it came near to it', async () => {
    bench = await board(85, '28-0316a2794aff');
    const sensor = await openDs18b20(sensorConfig({ name: 'boiler', kind: 'ds18b20' }), sensorDeps(bench), signal);
    await expect(sensor.read(signal)).rejects.toThrow(/power-on value/);
    bench.board.bench.hold('28-0316a2794aff', 84);
    await sensor.read(signal);
    bench.board.bench.hold('28-0316a2794aff', 85);
    expect(await sensor.read(signal)).toMatchObject([{ value: 85 }]);
  });
});
