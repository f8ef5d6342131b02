import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../../test/support/board-bench.ts';
import { forRandomBytes, mulberry32 } from '../../../../test/support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../../../../test/support/sensor-bench.ts';
import { type Clock, systemClock } from '../../../host/clock.ts';
import { sorted } from '../../kind/outcome.ts';
import {
  type BoschTrimming,
  celsius,
  fineTemperature,
  parseTrimming,
  pascal,
  relativeHumidity,
} from './compensation.ts';
import { openBosch, parseBoschData } from './driver.ts';
import {
  celsius as chipCelsius,
  fineTemperature as chipFine,
  hectopascal as chipHectopascal,
  relativeHumidity as chipHumidity,
  SAMPLE_TRIMMING,
} from './twin.ts';

const { signal } = new AbortController();

describe('Bosch compensation', () => {
  // BMP280 data sheet BST-BMP280-DS001 revision 1.14, section 3.12 "Calculating pressure and temperature": UT 519888, UP 415148 → 25.08 °C, 100653.27 Pa.
  it('agrees with the worked example of the BMP280 data sheet', () => {
    const trimming: BoschTrimming = {
      t: [27504, 26435, -1000],
      p: [36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000],
    };
    const fine = fineTemperature(trimming, 519888);
    expect(fine).toBe(128422);
    expect(celsius(fine)).toBe(25.08);
    expect(pascal(trimming, fine, 415148)).toBeCloseTo(100653.27, 1);
  });

  // The BME280 data sheet has no worked example. These are the registers of a real chip and what another program made of them, from a thread of
  // the maker's forum ("BME280 Data to test Calculations", community.bosch-sensortec.com td-p/9390): 24.44 °C, 54.17 %. The poster doubted his own
  // pressure (1148 hPa), and so do we: the sheet's floating-point formula gives 996 hPa.
  it('agrees with what another program made of a real BME280', () => {
    const first = Buffer.from('6c6e77663200a89227d5d00b6f18cafff9ffac260ad8bd10004b', 'hex');
    const trimming = parseTrimming(first, Buffer.from('650100140b001e', 'hex'));
    const { readings } = sorted(parseBoschData(trimming, Buffer.from('553380817fb07913', 'hex')));
    expect(readings[0]?.value).toBe(24.44);
    expect(readings[1]?.value).toBeCloseTo(floatingPoint(trimming, 0x553_38, 0x817_fb, 0x7913).hectopascal, 2);
    expect(readings[2]?.value).toBeCloseTo(54.17, 1);
  });

  it('agrees with an independent library on hundreds of answers of chips', async () => {
    const { cases } = JSON.parse(
      await readFile(join(import.meta.dirname, '../../../../test/fixtures/sensors/bme280-rpi-bme280.json'), 'utf8'),
    ) as {
      readonly cases: readonly (readonly [string, string, string, number, number, number])[];
    };
    for (const [first, second, data, temperature, pressure, humidity] of cases) {
      const trimming = parseTrimming(Buffer.from(first, 'hex'), Buffer.from(second, 'hex'));
      const [t, p, h] = sorted(parseBoschData(trimming, Buffer.from(data, 'hex'))).readings.map(({ value }) =>
        Number(value),
      );
      // It computes in floating point, and we in the sheet's integers.
      expect(Math.abs((t ?? Number.NaN) - temperature)).toBeLessThan(0.011);
      expect(Math.abs((p ?? Number.NaN) - pressure)).toBeLessThan(0.02);
      expect(Math.abs((h ?? Number.NaN) - humidity)).toBeLessThan(0.02);
    }
    expect(cases.length).toBe(300);
  });

  // BST-BME280-DS002 revision 1.6, section 8.1: the same meaning in floating point, which shares no step with the integers.
  it('agrees with the floating-point formula of the data sheet over the whole range', () => {
    const { t, p, h = [0, 0, 0, 0, 0, 0] } = SAMPLE_TRIMMING;
    for (let adcT = 420_000; adcT < 640_000; adcT += 7_001) {
      for (let adcH = 15_000; adcH < 40_000; adcH += 3_001) {
        const fine = fineTemperature({ t, p }, adcT);
        const reference = floatingPoint({ t, p, h }, 400_000, adcT, adcH);
        expect(celsius(fine)).toBeCloseTo(reference.celsius, 1);
        expect((pascal({ t, p }, fine, 400_000) ?? 0) / 100).toBeCloseTo(reference.hectopascal, 1);
        expect(Math.abs(relativeHumidity(h, fine, adcH) - reference.percent)).toBeLessThan(0.05);
      }
    }
  });

  it('reads the 12-bit humidity values with their signs', () => {
    const second = Uint8Array.of(0x72, 0x01, 0x00, 0x80, 0xf8, 0x80, 0x9c);
    expect(parseTrimming(new Uint8Array(26), second).h).toEqual([0, 370, 0, -2040, -2033, -100]);
  });

  it('gives the very numbers that the simulated chip means, which come from other code', () => {
    const { t, p, h = [0, 0, 0, 0, 0, 0] } = SAMPLE_TRIMMING;
    for (let at = 0; at < 20_000; at += 1) {
      const [rawT, rawP, rawH] = [
        400_000 + Math.floor(Math.random() * 180_000),
        250_000 + Math.floor(Math.random() * 300_000),
        Math.floor(Math.random() * 65_536),
      ];
      const fine = fineTemperature({ t, p }, rawT);
      const chip = chipFine(SAMPLE_TRIMMING, rawT);
      const driver = [celsius(fine), (pascal({ t, p }, fine, rawP) ?? 0) / 100, relativeHumidity(h, fine, rawH)];
      const witness = [
        chipCelsius(chip),
        chipHectopascal(SAMPLE_TRIMMING, chip, rawP),
        chipHumidity(SAMPLE_TRIMMING, chip, rawH),
      ];
      if (driver.join() !== witness.join()) throw new Error(`${rawT}, ${rawP}, ${rawH}: ${driver} and ${witness}`);
    }
  });

  it('leaves out alone what was not measured, and everything without a temperature', () => {
    const trimming = parseTrimming(
      Buffer.from('6c6e77663200a89227d5d00b6f18cafff9ffac260ad8bd10004b', 'hex'),
      Buffer.from('650100140b001e', 'hex'),
    );
    const given = (hex: string) => sorted(parseBoschData(trimming, Buffer.from(hex, 'hex')));
    expect(given('553380817fb08000').readings.map(({ key }) => key)).toEqual(['temperature', 'pressure']);
    expect(given('553380817fb08000').refused).toMatchObject([
      { key: 'humidity', fault: { code: 'sensors/bad-reading', recovery: 'retry' } },
    ]);
    expect(given('800000817fb07913').readings.map(({ key }) => key)).toEqual(['temperature', 'humidity']);
    expect(given('ffff00817fb07913').refused).toMatchObject([
      { key: 'pressure', fault: { code: 'sensors/out-of-range' } },
    ]);
    expect(() => given('5533808000007913')).toThrow(/has not measured/);
  });

  it('reports nothing outside the range of the chip, whatever the bytes', () => {
    const ranges: Readonly<Record<string, readonly [number, number]>> = {
      temperature: [-40, 85],
      pressure: [300, 1100],
      humidity: [0, 100],
    };
    forRandomBytes(100_000, 33 + 8, (bytes) => {
      const trimming = parseTrimming(bytes.subarray(0, 26), bytes.subarray(26, 33));
      for (const { key, value } of sorted(parseBoschData(trimming, bytes.subarray(33))).readings) {
        const [least, greatest] = ranges[key] ?? [0, 0];
        if (!(Number(value) >= least && Number(value) <= greatest))
          throw new Error(`${key} ${value} was reported as good`);
      }
    });
  });
});

function floatingPoint({ t, p, h = [0, 0, 0, 0, 0, 0] }: BoschTrimming, adcP: number, adcT: number, adcH: number) {
  const first = (adcT / 16384 - t[0] / 1024) * t[1];
  const second = (adcT / 131072 - t[0] / 8192) ** 2 * t[2];
  const fine = first + second;
  const x = fine / 2 - 64000;
  const y = (x * x * p[5]) / 32768 + x * p[4] * 2;
  const offset = y / 4 + p[3] * 65536;
  const gain = (1 + ((p[2] * x * x) / 524288 + p[1] * x) / 524288 / 32768) * p[0];
  const raw = ((1048576 - adcP - offset / 4096) * 6250) / gain;
  const pascals = raw + ((p[8] * raw * raw) / 2147483648 + (raw * p[7]) / 32768 + p[6]) / 16;
  const v = fine - 76800;
  const wet =
    (adcH - (h[3] * 64 + (h[4] / 16384) * v)) *
    ((h[1] / 65536) * (1 + (h[5] / 67108864) * v * (1 + (h[2] / 67108864) * v)));
  const percent = Math.min(100, Math.max(0, wet * (1 - (h[0] * wet) / 524288)));
  return { celsius: fine / 5120, hectopascal: pascals / 100, percent };
}

describe('a BME280 on the board', () => {
  let bench: BoardBench;
  beforeEach(async () => {
    const constant = (value: number) => ({ kind: 'constant' as const, value });
    const signals = { temperature: constant(21.37), humidity: constant(48.2), pressure: constant(1002.4) };
    const board = () => ({
      i2c: [
        {
          bus: 1,
          chips: [
            { kind: 'bme280' as const, address: 0x76, signals, keys: { temperature: 'roofTemperature' } },
            { kind: 'bmp280' as const, address: 0x77, signals },
          ],
        },
      ],
    });
    // The same garbage each time: some of it a chip could have meant.
    bench = await openBoardBench(board, { ...systemClock, jitter: mulberry32(1) });
  });
  afterEach(() => bench.close());

  it('is read as the values the board says it showed', async () => {
    const sensor = await openBosch(sensorConfig({ name: 'roof', kind: 'bme280' }), sensorDeps(bench), signal);
    const readings = await sensor.read(signal);
    const shown = (await bench.record()).filter(({ kind }) => kind === 'shown');
    expect(readings.map(({ value }) => value)).toEqual(shown.map(({ value }) => value));
    expect(shown.map(({ key }) => key)).toEqual(['roofTemperature', 'pressure', 'humidity']);
    expect(readings[0]).toEqual({ key: 'temperature', value: 21.37, unit: '°C' });
    expect(readings[1]?.value).toBeCloseTo(1002.4, 1);
    expect(readings[2]?.value).toBeCloseTo(48.2, 1);
  });

  it('is told from a BMP280', async () => {
    const sensor = await openBosch(
      sensorConfig({ name: 'roof', kind: 'bme280', address: 0x77 }),
      sensorDeps(bench),
      signal,
    );
    await expect(sensor.read(signal)).rejects.toThrow('0x77 on i2c-1 is no bme280: it is a bmp280');
    const right = await openBosch(
      sensorConfig({ name: 'roof', kind: 'bmp280', address: 0x77 }),
      sensorDeps(bench),
      signal,
    );
    expect((await right.read(signal)).map(({ key }) => key)).toEqual(['temperature', 'pressure']);
  });

  it('gives the same values after it lost its power between two reads, which nothing tells', async () => {
    const sensor = await openBosch(
      sensorConfig({ name: 'roof', kind: 'bme280', filter: 4 }),
      sensorDeps(bench),
      signal,
    );
    const before = await sensor.read(signal);
    bench.board.bench.fault('i2c-1:0x76', 'brown-out');
    expect(await sensor.read(signal)).toEqual(before);
    expect(sensor.refused?.()).toEqual([]);
  });

  it('gives no value of a chip that lost its power in the middle of a read', async () => {
    // The board's chip forgets everything while the driver sleeps over the conversion.
    let isCutting = false;
    const { clock, ...others } = sensorDeps(bench);
    const cutting: Clock = {
      ...clock,
      sleep: async (ms, stop) => {
        if (isCutting) bench.board.bench.fault('i2c-1:0x76', 'brown-out');
        await clock.sleep(ms, stop);
      },
    };
    const sensor = await openBosch(
      sensorConfig({ name: 'roof', kind: 'bme280' }),
      { ...others, clock: cutting },
      signal,
    );
    await sensor.read(signal);
    isCutting = true;
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/bad-reading' });
    isCutting = false;
    expect(await sensor.read(signal)).toHaveLength(3);
  });

  it('reads a chip right that another program left in normal mode', async () => {
    const bus = await bench.ports.i2c.openBus(1, signal);
    await bus.writeRegisters(0x76, 0xf4, Uint8Array.of(0b001_001_11), signal);
    const sensor = await openBosch(
      sensorConfig({ name: 'roof', kind: 'bme280', filter: 4 }),
      sensorDeps(bench),
      signal,
    );
    expect(await sensor.read(signal)).toMatchObject([{ value: 21.37 }, {}, {}]);
    expect(await bus.readRegisters(0x76, 0xf5, 1, signal)).toEqual(Buffer.of(2 << 2));
  });

  it('waits for the trimming of a chip that has just been switched on', async () => {
    const sensor = await openBosch(sensorConfig({ name: 'roof', kind: 'bme280' }), sensorDeps(bench), signal);
    await bench.restart();
    await sensor.read(signal).catch(() => {}); // the socket was cut with the board
    const [temperature] = await sensor.read(signal);
    expect(temperature?.value).toBe(21.37);
  });

  it('fails as retriable when the chip is gone, when the bus hangs, and with garbage never escapes its range', async () => {
    const sensor = await openBosch(sensorConfig({ name: 'roof', kind: 'bme280' }), sensorDeps(bench), signal);
    bench.board.bench.fault('i2c-1:0x76', 'nak');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/i2c-no-answer', recovery: 'retry' });
    bench.board.bench.fault('i2c-1:0x76', 'hang');
    await expect(sensor.read(AbortSignal.timeout(50))).rejects.toMatchObject({
      code: 'hardware/deadline',
      recovery: 'retry',
    });
    bench.board.bench.fault('i2c-1:0x76', 'garbage');
    await expect(sensor.read(AbortSignal.timeout(200))).rejects.toMatchObject({ recovery: 'retry' });
  });
});
