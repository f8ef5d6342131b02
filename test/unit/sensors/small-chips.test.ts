/** Each driver against its data sheet, against 100,000 random answers, and on the board. */
import { afterEach, describe, expect, it } from 'vitest';
import type { SensorKind } from '../../../src/config/agent-config.ts';
import { ads1115Config, parseAds1115 } from '../../../src/sensors/ads1115.ts';
import { parseBh1750 } from '../../../src/sensors/bh1750.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import { parseRegister } from '../../../src/sensors/i2c-register.ts';
import { ina219Calibration, ina219Config, parseIna219 } from '../../../src/sensors/ina219.ts';
import type { Reading } from '../../../src/sensors/sensor.ts';
import { crc8, parseSht3x } from '../../../src/sensors/sht3x.ts';
import { parseLm75, parseMcp9808, parseTmp102 } from '../../../src/sensors/thermometers.ts';
import type { BoardConfigInput } from '../../../src/simulated-board/board-config.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { forRandomBytes } from '../../support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const signal = AbortSignal.timeout(60_000);
const RUNS = 100_000;

/** Random words into a parser: readings lie within the range, or it throws an AgentError. */
function withinForAll(parse: (word: number, bytes: Buffer) => readonly Reading[], [least, greatest]: readonly [number, number]): void {
  let good = 0;
  forRandomBytes(RUNS, 8, (bytes) => {
    for (const { value } of parse(bytes.readUInt16BE(0), bytes)) {
      if (!(typeof value === 'number' && value >= least && value <= greatest)) throw new Error(`${value} was reported as good`);
      good += 1;
    }
  });
  expect(good).toBeGreaterThan(0);
}

describe('TMP102', () => {
  // SBOS397C (October 2012), table 5 "12-Bit Temperature Data Format" and table 6 "13-Bit Temperature Data Format".
  it('agrees with the tables of its data sheet', () => {
    const twelve = {
      '7FF': 127.9375,
      '640': 100,
      '500': 80,
      '4B0': 75,
      '320': 50,
      '190': 25,
      '004': 0.25,
      '000': 0,
      FFC: -0.25,
      E70: -25,
      C90: -55,
    };
    for (const [hex, celsius] of Object.entries(twelve)) expect(parseTmp102(Number.parseInt(hex, 16) << 4, false).value).toBe(celsius);
    const thirteen = {
      '0960': 150,
      '0800': 128,
      '07FF': 127.9375,
      '0640': 100,
      '0190': 25,
      '0004': 0.25,
      '1FFC': -0.25,
      '1E70': -25,
      '1C90': -55,
    };
    for (const [hex, celsius] of Object.entries(thirteen))
      expect(parseTmp102((Number.parseInt(hex, 16) << 3) | 1, true).value).toBe(celsius);
  });
  it('never leaves its range', () => {
    withinForAll((word) => [parseTmp102(word, false)], [-55, 128]);
    withinForAll((word) => [parseTmp102(word, true)], [-55, 150]);
  });
});

describe('LM75', () => {
  // NXP LM75B, rev. 6.1, section 7.4.3, table 10 "Temp register value".
  it('agrees with the table of its data sheet', () => {
    const table = {
      '3F8': 127,
      '3F7': 126.875,
      '3F1': 126.125,
      '3E8': 125,
      '0C8': 25,
      '001': 0.125,
      '000': 0,
      '7FF': -0.125,
      '738': -25,
      '649': -54.875,
      '648': -55,
    };
    for (const [hex, celsius] of Object.entries(table)) expect(parseLm75(Number.parseInt(hex, 16) << 5).value).toBe(celsius);
  });
  it('never leaves its range', () => withinForAll((word) => [parseLm75(word)], [-55, 127.875]));
});

describe('MCP9808', () => {
  // DS25095A, section 5.1.3: the read-out of +25.25 °C is 1100 0001 1001 0100, three alert flags before the sign. Below zero by equation 5-1.
  it('agrees with the example of its data sheet', () => {
    expect(parseMcp9808(0b1100_0001_1001_0100).value).toBe(25.25);
    expect(parseMcp9808(0x1fff).value).toBe(-0.0625);
    expect(parseMcp9808(0x1d80).value).toBe(-40);
  });
  it('never leaves its range', () => withinForAll((word) => [parseMcp9808(word)], [-40, 125]));
});

describe('SHT3x', () => {
  // SHT3x-DIS, May 2018, version 5: table 20 gives CRC(0xBEEF) = 0x92. Section 4.13 has formulas without an example; the ends of the scale are theirs.
  it('agrees with the check sum and the formulas of its data sheet', () => {
    expect(crc8(Uint8Array.of(0xbe, 0xef))).toBe(0x92);
    expect(() => parseSht3x(Buffer.from('ffffac0000' + '81', 'hex'))).toThrow(/outside/); // -45 + 175 = 130 °C
    const word = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff, crc8(Uint8Array.of(value >> 8, value & 0xff))]);
    expect(parseSht3x(Buffer.concat([word(0x6666), word(0x8000)])).map(({ value }) => value)).toEqual([25, 50]); // 0x6666 is two fifths of 65535
  });
  it('never leaves its range, and takes no word with a wrong check sum', () => {
    let good = 0;
    forRandomBytes(RUNS, 6, (bytes, random) => {
      if (random() < 0.5) for (const at of [0, 3]) bytes[at + 2] = crc8(bytes.subarray(at, at + 2));
      const [temperature = 999, humidity = 999] = parseSht3x(bytes).map(({ value }) => Number(value));
      if (!(temperature >= -40 && temperature <= 125 && humidity >= 0 && humidity <= 100))
        throw new Error(`${temperature}, ${humidity} were reported as good`);
      good += 1;
    });
    expect(good).toBeGreaterThan(RUNS / 3);
  });
});

describe('ADS1115', () => {
  // SBAS444D, section 9.5.4 "Data Format", table 3: +FS/2^15 is 0001h, -FS/2^15 is FFFFh; 7FFFh and 8000h are at or beyond the scale.
  it('agrees with the table of its data sheet', () => {
    expect(parseAds1115('x', 2.048, 0x0001).value).toBe(0.0000625);
    expect(parseAds1115('x', 2.048, 0x0000).value).toBe(0);
    expect(parseAds1115('x', 2.048, 0xffff).value).toBe(-0.0000625);
    expect(parseAds1115('x', 4.096, 0x4000).value).toBe(2.048);
    expect(() => parseAds1115('x', 2.048, 0x7fff)).toThrow(/end of its range of ±2.048 V/);
    expect(() => parseAds1115('x', 2.048, 0x8000)).toThrow(/end of its range/);
  });
  // SBAS444D, table 8: the register's reset value 8583h is AIN0-AIN1, ±2.048 V, single shot, 128 SPS, comparator off.
  it('asks for a conversion as its register says', () => {
    expect(ads1115Config({ input: 'A0-A1', rangeVolts: 2.048 }, 128)).toBe(0x8583);
    expect(ads1115Config({ input: 'A3', rangeVolts: 4.096 }, 860)).toBe(0x8000 | (7 << 12) | (1 << 9) | 0x100 | (7 << 5) | 3);
  });
  it('never leaves its range', () => withinForAll((word) => [parseAds1115('x', 0.256, word)], [-0.256, 0.256]));
});

describe('INA219', () => {
  // SBOS448F, page 24, table 3 "Configure/Measure/Calculate Example": 10 A through 2 mΩ at 12 V, 1 mA a step; calibration 5000h, bus 5D98h,
  // current 2710h, power 1766h give 11.98 V, 10.0 A, 119.8 W. A step of 1 mA is a greatest current of 32.768 A.
  it('agrees with the worked example of its data sheet', () => {
    const config = { shuntOhms: 0.002, maxAmperes: 32.768, busRangeVolts: 16 as const };
    expect(ina219Calibration(config)).toBe(0x5000);
    expect(parseIna219(config, { voltage: 0x5d98, current: 0x2710, power: 0x1766 }).map(({ value }) => value)).toEqual([11.98, 10, 119.8]);
  });
  // The same table's configuration 019Fh is 16 V, ±40 mV, 12 bits, continuous; its shunt takes 20 mV.
  it('configures the smallest shunt range that the greatest current fits into', () => {
    expect(ina219Config({ shuntOhms: 0.002, maxAmperes: 20, busRangeVolts: 16 })).toBe(0x019f);
    expect(ina219Config({ shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 })).toBe(0x399f); // the register's reset value
  });
  it('never leaves its range', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 as const };
    withinForAll((voltage, bytes) => parseIna219(config, { voltage, current: bytes.readUInt16BE(2), power: 0 }).slice(0, 1), [0, 32]);
  });
});

describe('BH1750', () => {
  // ROHM BH1750FVI technical note 2009.04, rev. B, page 10: high byte 1000_0011, low byte 1001_0000 are about 28067 lx.
  it('agrees with the example of its data sheet', () => {
    expect(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value).toBeCloseTo(28_067, -1);
    expect(Math.round(Number(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value))).toBe(28_067);
    expect(parseBh1750(Uint8Array.of(0xff, 0xff), 'high2').value).toBe(27306.25);
  });
  it('never leaves its range', () => withinForAll((_, bytes) => [parseBh1750(bytes, 'low')], [0, 54_612.5]));
});

describe('a register by its table', () => {
  const field = { register: 0, width: 2, signed: false, byteOrder: 'big' as const, shift: 0, scale: 1, offset: 0 };
  it('takes sign, byte order, shift, width, scale and offset as they are said', () => {
    expect(parseRegister('x', field, Uint8Array.of(0x12, 0x34)).value).toBe(0x1234);
    expect(parseRegister('x', { ...field, byteOrder: 'little' }, Uint8Array.of(0x12, 0x34)).value).toBe(0x3412);
    expect(parseRegister('x', { ...field, signed: true, shift: 4, scale: 0.0625 }, Uint8Array.of(0xe7, 0x00)).value).toBe(-25);
    expect(parseRegister('x', { ...field, shift: 3, bits: 13, scale: 0.004 }, Uint8Array.of(0x5d, 0x98)).value).toBe(11.98);
    expect(parseRegister('x', { ...field, width: 1, bits: 4, shift: 4 }, Uint8Array.of(0xa5)).value).toBe(0x0a);
    expect(parseRegister('x', { ...field, width: 8 }, Buffer.from('ffffffffffffffff', 'hex')).value).toBe(18446744073709551615n);
    expect(parseRegister('x', { ...field, scale: 0.1, unit: 'V' }, Uint8Array.of(0x00, 231))).toEqual({ key: 'x', value: 23.1, unit: 'V' });
  });
  it('never leaves the limits that were set', () =>
    withinForAll(
      (_, bytes) => [parseRegister('x', { ...field, signed: true, scale: 0.01, min: -40, max: 85 }, bytes.subarray(0, 2))],
      [-40, 85],
    ));
});

describe('on the board', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());

  const room: NonNullable<NonNullable<NonNullable<BoardConfigInput['i2c']>[number]['chips']>[number]['signals']> = {
    temperature: { kind: 'room', base: 21.5, drift: 3, noise: 0.5 },
    humidity: { kind: 'room', base: 45, drift: 10, noise: 1, min: 0, max: 100 },
    illuminance: { kind: 'room', base: 400, noise: 20, min: 0 },
    voltage: { kind: 'room', base: 12.3, noise: 0.2 },
    current: { kind: 'room', base: 0.8, noise: 0.1 },
    A0: { kind: 'room', base: 1.2, noise: 0.3 },
    'A1-A3': { kind: 'room', base: -0.1, noise: 0.01 },
    level: { kind: 'room', base: 25, noise: 3 },
  };
  const registers = { level: { register: 0x10, width: 2, signed: true, byteOrder: 'little', scale: 0.1 } };
  const table: readonly (readonly [SensorKind, number, Readonly<Record<string, unknown>>])[] = [
    ['sht3x', 0x44, {}],
    ['tmp102', 0x48, {}],
    ['tmp102', 0x49, { extended: true }],
    ['lm75', 0x4a, {}],
    ['mcp9808', 0x18, {}],
    ['ads1115', 0x4b, { channels: { A0: { input: 'A0' }, 'A1-A3': { input: 'A1-A3', rangeVolts: 0.256 } }, samplesPerSecond: 860 }],
    ['ina219', 0x40, {}],
    ['bh1750', 0x23, { mode: 'low' }],
    ['i2c-register', 0x60, { registers }],
  ];

  it.each(table)(
    '%s at %i reads exactly what the board says it showed, and survives a chip that loses its power',
    async (kind, address, more) => {
      bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [{ kind, address, signals: room, options: more }] }] }));
      const sensor = await createSensor(sensorConfig({ name: 'chip', kind, address, ...more }), sensorDeps(bench), signal);
      const read: unknown[] = [];
      for (let at = 0; at < 5; at += 1) {
        read.push(...(await sensor.read(signal)).map(({ key, value }) => [key, value]));
        await new Promise((resolve) => setTimeout(resolve, 8)); // the room's noise is another by then
      }
      const shown = (await bench.record()).filter((entry) => entry.kind === 'shown').map(({ key, value }) => [key, value]);
      expect(read).toEqual(shown);
      expect(new Set(read.map((pair) => JSON.stringify(pair))).size).toBeGreaterThan(1);
      await bench.restart();
      await sensor.read(signal).catch(() => {});
      expect((await sensor.read(signal)).length).toBeGreaterThan(0);
      bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'nak');
      await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/i2c-no-answer' });
      await sensor.close();
    },
  );
});
