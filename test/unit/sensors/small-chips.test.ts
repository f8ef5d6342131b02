/** Each driver against its data sheet, against 100,000 random answers, and on the board. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SensorKind } from '../../../src/config/agent-config.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { silentLog } from '../../../src/host/log.ts';
import { ads1115Config, parseAds1115 } from '../../../src/sensors/ads1115.ts';
import { parseBh1750 } from '../../../src/sensors/bh1750.ts';
import { createSensor } from '../../../src/sensors/create-sensor.ts';
import { parseRegister } from '../../../src/sensors/i2c-register.ts';
import { ina219Config, parseIna219 } from '../../../src/sensors/ina219.ts';
import { type Outcome, sorted } from '../../../src/sensors/outcome.ts';
import type { Reading } from '../../../src/sensors/sensor.ts';
import { crc8, parseSht3x } from '../../../src/sensors/sht3x.ts';
import { parseLm75, parseMcp9808, parseTmp102 } from '../../../src/sensors/thermometers.ts';
import type { BoardConfigInput } from '../../../src/simulated-board/board-config.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { forRandomBytes } from '../../support/random-bytes.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const { signal } = new AbortController();
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

function valuesOf(outcomes: readonly Outcome[]): readonly unknown[] {
  return sorted(outcomes).readings.map(({ value }) => value);
}

function refusedOf(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.flatMap((outcome) => ('fault' in outcome ? [outcome.key] : []));
}

describe('LM75', () => {
  it('waits for a conversion with a 0 °C out of nowhere, and not with one that was close before', async () => {
    const clock = new FakeClock();
    const halfDegrees = [50, 0, 1, 0, 0];
    const readWord = async (): Promise<number> => (halfDegrees.shift() ?? 0) << 7;
    const bus = { name: 'i2c-1', readRegisters: async () => [0], readWord, close: async () => {} };
    const ports = { i2c: { openBus: async () => bus } } as unknown as Ports; // the only port that it asks
    const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/state' };
    const sensor = await createSensor(sensorConfig({ name: 'roof', kind: 'lm75' }), deps, signal);
    const read = async () => {
      const fromMs = clock.monotonicMs();
      let tookMs: number | undefined;
      const reading = sensor.read(signal).finally(() => {
        tookMs = clock.monotonicMs() - fromMs;
      });
      await clock.advance(1_000);
      return [(await reading)[0]?.value, tookMs];
    };
    expect([await read(), await read(), await read(), await read()]).toEqual([
      [25, 0],
      [0.5, 300],
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('TMP102', () => {
  // SBOS397C (October 2012), table 5 "12-Bit Temperature Data Format" and table 6 "13-Bit Temperature Data Format".
  it('agrees with the tables of its data sheet', () => {
    const twelve = {
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
    for (const [hex, celsius] of Object.entries(twelve)) expect(parseTmp102(Number.parseInt(hex, 16) << 4).value).toBe(celsius);
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
    for (const [hex, celsius] of Object.entries(thirteen)) expect(parseTmp102((Number.parseInt(hex, 16) << 3) | 1).value).toBe(celsius);
  });
  it('never leaves its range', () => {
    withinForAll((word) => [parseTmp102(word & ~1)], [-55, 127.875]);
    withinForAll((word) => [parseTmp102(word | 1)], [-55, 150]);
  });
  it('is not believed at the end of its 12 bits, where it may be any hotter', () => {
    expect(() => parseTmp102(0x7ff0)).toThrow(/outside/);
    expect(parseTmp102(0x3fff).value).toBe(127.9375); // 13 bits go on
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
  it('is not believed at the end of its 9 or 11 bits', () => {
    expect(() => parseLm75(0x7f80)).toThrow(/outside/);
    expect(() => parseLm75(0x7fe0)).toThrow(/outside/);
  });
  it('never leaves its range', () => withinForAll((word) => [parseLm75(word)], [-55, 127.375]));
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
    const end = sorted(parseSht3x(Buffer.from('ffffac0000' + '81', 'hex'))); // -45 + 175 = 130 °C
    expect(end.refused).toMatchObject([{ key: 'temperature', fault: { code: 'sensors/out-of-range' } }]);
    expect(end.readings).toEqual([{ key: 'humidity', value: 0, unit: '%' }]);
    const word = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff, crc8(Uint8Array.of(value >> 8, value & 0xff))]);
    expect(valuesOf(parseSht3x(Buffer.concat([word(0x6666), word(0x8000)])))).toEqual([25, 50]); // 0x6666 is two fifths of 65535
  });
  it('never leaves its range, and takes no word with a wrong check sum', () => {
    let good = 0;
    forRandomBytes(RUNS, 6, (bytes, random) => {
      if (random() < 0.5) for (const at of [0, 3]) bytes[at + 2] = crc8(bytes.subarray(at, at + 2));
      for (const { key, value } of sorted(parseSht3x(bytes)).readings) {
        const [least, greatest] = key === 'temperature' ? [-40, 125] : [0, 100];
        if (!(Number(value) >= least && Number(value) <= greatest)) throw new Error(`${key} ${value} was reported as good`);
        good += 1;
      }
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
  // SBAS444D, table 8: the register's reset value 8583h is AIN0-AIN1, ±2.048 V, single shot, 128 SPS, comparator off. Ours is never that one.
  it('asks for a conversion as its register says', () => {
    expect(ads1115Config({ input: 'A0-A1', rangeVolts: 2.048 }, 128)).toBe(0x8583 | 4);
    expect(ads1115Config({ input: 'A3', rangeVolts: 4.096 }, 860)).toBe(0x8000 | (7 << 12) | (1 << 9) | 0x100 | (7 << 5) | 4 | 3);
  });
  it('never leaves its range', () => withinForAll((word) => [parseAds1115('x', 0.256, word)], [-0.256, 0.256]));
});

describe('INA219', () => {
  // SBOS448F, page 24, table 3 "Configure/Measure/Calculate Example": 10 A through 2 mΩ at 12 V. Shunt register 07D0h is 20 mV, bus register
  // 5D98h 11.98 V, which makes 10.0 A and 119.8 W.
  it('agrees with the worked example of its data sheet', () => {
    const config = { shuntOhms: 0.002, maxAmperes: 20, busRangeVolts: 16 as const };
    expect(valuesOf(parseIna219(config, { voltage: 0x5d98, shunt: 0x07d0 }))).toEqual([11.98, 10, 119.8]);
  });
  // Section 8.6.3.1: at ±320 mV the shunt register ends at 7D00h and 8300h, at ±80 mV at 1F40h; below the end, -320 mV + 10 µV is 8301h.
  it('leaves out current and power at the end of the amplifier, and keeps the voltage', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 as const };
    for (const shunt of [0x7d00, 0x8300]) {
      const outcomes = parseIna219(config, { voltage: 0x5d98, shunt });
      expect(valuesOf(outcomes)).toEqual([11.98]);
      expect(refusedOf(outcomes)).toEqual(['current', 'power']);
    }
    expect(valuesOf(parseIna219(config, { voltage: 0x5d98, shunt: 0x8301 }))).toEqual([11.98, -3.1999, 38.334802]);
    expect(refusedOf(parseIna219({ ...config, maxAmperes: 0.8 }, { voltage: 0x5d98, shunt: 0x1f40 }))).toEqual(['current', 'power']);
  });
  // Section 8.6.3.2: full scale of the bus is 32 V, 1F40h, or 16 V, 0FA0h.
  it('leaves out voltage and power at the end of the bus range', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 16 as const };
    const outcomes = parseIna219(config, { voltage: 0x0fa0 << 3, shunt: 1_000 });
    expect(valuesOf(outcomes)).toEqual([0.1]);
    expect(refusedOf(outcomes)).toEqual(['voltage', 'power']);
  });
  // The same table's configuration 019Fh is 16 V, ±40 mV, 12 bits, continuous; its shunt takes 20 mV. We trigger: mode 3 for its 7.
  it('configures the smallest shunt range that the greatest current fits into', () => {
    expect(ina219Config({ shuntOhms: 0.002, maxAmperes: 20, busRangeVolts: 16 })).toBe(0x019b);
    expect(ina219Config({ shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 })).toBe(0x399b); // its reset value is 399Fh
  });
  it('never leaves its range', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 as const };
    forRandomBytes(RUNS, 8, (bytes) => {
      for (const { key, value } of sorted(parseIna219(config, { voltage: bytes.readUInt16BE(0), shunt: bytes.readUInt16BE(2) })).readings) {
        const greatest = { voltage: 32, current: 3.2, power: 102.4 }[key] ?? 0;
        if (!(Math.abs(Number(value)) < greatest)) throw new Error(`${key} ${value} was reported as good`);
      }
    });
  });
});

describe('BH1750', () => {
  // ROHM BH1750FVI technical note 2009.04, rev. B, page 10: high byte 1000_0011, low byte 1001_0000 are about 28067 lx.
  it('agrees with the example of its data sheet', () => {
    expect(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value).toBeCloseTo(28_067, -1);
    expect(Math.round(Number(parseBh1750(Uint8Array.of(0b1000_0011, 0b1001_0000), 'high').value))).toBe(28_067);
    expect(parseBh1750(Uint8Array.of(0xff, 0xfe), 'high2').value).toBe(27305.83);
  });
  it('is not believed at the end of its count', () => {
    expect(() => parseBh1750(Uint8Array.of(0xff, 0xff), 'high')).toThrow(/end of the range/);
  });
  it('never leaves its range', () => withinForAll((_, bytes) => [parseBh1750(bytes, 'low')], [0, 54_611.67]));
});

/** What others make of the same registers; where it comes from stands in the file. */
interface OtherLibraries {
  readonly mcp9808: readonly (readonly [word: number, celsius: number])[];
  readonly ina219: readonly (readonly [voltage: number, shunt: number, volts: number, shuntVolts: number])[];
  readonly ads1115: readonly (readonly [word: number, rangeVolts: number, volts: number])[];
  readonly sht31d: readonly (readonly [answer: string, celsius: number, percent: number])[];
  readonly bh1750: readonly (readonly [raw: number, mode: 'high' | 'high2', lux: number])[];
}

describe('the libraries of another maker', async () => {
  const file = join(import.meta.dirname, '../../fixtures/sensors/chips-adafruit.json');
  const { cases } = JSON.parse(await readFile(file, 'utf8')) as { readonly cases: OtherLibraries };

  it('agree on an MCP9808', () => {
    for (const [word, celsius] of cases.mcp9808) expect(parseMcp9808(word).value).toBe(celsius);
  });
  it('agree on an INA219', () => {
    const config = { shuntOhms: 1, maxAmperes: 0.32, busRangeVolts: 32 as const };
    for (const [voltage, shunt, volts, shuntVolts] of cases.ina219)
      expect(valuesOf(parseIna219(config, { voltage, shunt })).slice(0, 2)).toEqual([
        expect.closeTo(volts, 6),
        expect.closeTo(shuntVolts, 6),
      ]);
  });
  it('agree on an ADS1115', () => {
    for (const [word, rangeVolts, volts] of cases.ads1115) expect(parseAds1115('x', rangeVolts, word).value).toBeCloseTo(volts, 6);
  });
  it('agree on an SHT3x', () => {
    for (const [answer, celsius, percent] of cases.sht31d)
      expect(valuesOf(parseSht3x(Buffer.from(answer, 'hex')))).toEqual([expect.closeTo(celsius, 2), expect.closeTo(percent, 2)]);
  });
  it('agree on a BH1750', () => {
    for (const [raw, mode, lux] of cases.bh1750) expect(parseBh1750(Uint8Array.of(raw >> 8, raw & 0xff), mode).value).toBeCloseTo(lux, 1);
  });
  it('were asked often enough', () => {
    expect(Object.values(cases).map((of: readonly unknown[]) => of.length)).toEqual([60, 60, 60, 40, 40]);
  });
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
  it('keeps every digit of a counter', () => {
    const counter = { ...field, width: 8, scale: 0.001 };
    // 12345678901234567 thousandths, as Python's decimal and float write them.
    expect(String(parseRegister('x', counter, Buffer.from('002bdc545d6b4b87', 'hex')).value)).toBe('12345678901234.566');
    expect(parseRegister('x', counter, Buffer.from('00000462d53c8abf', 'hex')).value).toBe(4822530820.799);
    expect(parseRegister('x', { ...counter, scale: 10 }, Buffer.from('002bdc545d6b4b87', 'hex')).value).toBe(123456789012345670n);
    expect(parseRegister('x', { ...counter, scale: 0.1, offset: -1e-7 }, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 231)).value).toBe(23.0999999);
  });
  it('leaves out what the chip marks as none, at any width', () => {
    const none = (value: number, more = {}) => ({ ...field, noValue: value, ...more });
    expect(() => parseRegister('x', none(0x8000, { signed: true }), Uint8Array.of(0x80, 0))).toThrow(/there is no x/);
    expect(() => parseRegister('x', none(-0x8000, { signed: true }), Uint8Array.of(0x80, 0))).toThrow(/there is no x/);
    expect(() => parseRegister('x', none(-1, { width: 8 }), Buffer.from('ffffffffffffffff', 'hex'))).toThrow(/there is no x/);
    expect(parseRegister('x', none(-1), Uint8Array.of(0xff, 0xfe)).value).toBe(0xfffe);
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

  /** Noise far below the fifth by which a reading may differ from those before it. */
  const room: NonNullable<NonNullable<NonNullable<BoardConfigInput['i2c']>[number]['chips']>[number]['signals']> = {
    temperature: { kind: 'room', base: 21.5, drift: 3, noise: 0.5 },
    humidity: { kind: 'room', base: 45, drift: 10, noise: 1, min: 0, max: 100 },
    illuminance: { kind: 'room', base: 400, noise: 10, min: 0 },
    voltage: { kind: 'room', base: 12.3, noise: 0.2 },
    current: { kind: 'room', base: 0.8, noise: 0.02 },
    A0: { kind: 'room', base: 1.2, noise: 0.03 },
    'A1-A3': { kind: 'room', base: -0.1, noise: 0.002 },
    level: { kind: 'room', base: 25, noise: 0.5 },
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
      const read: (readonly [string, unknown])[] = [];
      for (let at = 0; at < 5; at += 1) {
        read.push(...(await sensor.read(signal)).map(({ key, value }) => [key, value] as const));
        await new Promise((resolve) => setTimeout(resolve, 8)); // the room's noise is another by then
      }
      const shown = (await bench.record()).filter((entry) => entry.kind === 'shown').map(({ key, value }) => [key, value]);
      expect(read).toEqual(shown);
      expect(new Set(read.map((pair) => JSON.stringify(pair))).size).toBeGreaterThan(1);
      // What a chip shows that has just been switched on is no reading.
      bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'brown-out');
      const keys = new Set(read.map(([key]) => key));
      const after = await sensor.read(signal).catch(() => sensor.read(signal));
      expect(new Set(after.map(({ key }) => key))).toEqual(keys);
      for (const { key, value } of after) {
        const before = read.filter((pair) => pair[0] === key).map((pair) => Number(pair[1]));
        expect(Number(value)).toBeGreaterThan(Math.min(...before) - 0.2 * Math.abs(Math.min(...before)));
        expect(Number(value)).toBeLessThan(Math.max(...before) + 0.2 * Math.abs(Math.max(...before)));
      }
      bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'nak');
      await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/i2c-no-answer' });
      await sensor.close();
    },
  );

  const boardWith = async (kind: SensorKind, address: number, signals: Readonly<Record<string, number>>, more = {}) => {
    const constants = Object.fromEntries(Object.entries(signals).map(([key, value]) => [key, { kind: 'constant' as const, value }]));
    bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [{ kind, address, signals: constants, options: more }] }] }));
    return await createSensor(sensorConfig({ name: 'chip', kind, address, ...more }), sensorDeps(bench), signal);
  };

  it('an INA219 shows its current at the first read, and leaves it out past the end of its amplifier, alone', async () => {
    const sensor = await boardWith('ina219', 0x40, { voltage: 12, current: 1.5 });
    expect((await sensor.read(signal)).map(({ value }) => value)).toEqual([12, 1.5, 18]);
    bench.board.bench.hold('i2c-1:0x40/current', 8);
    expect((await sensor.read(signal)).map(({ key }) => key)).toEqual(['voltage']);
    expect(sensor.refused?.()).toMatchObject([{ key: 'current', fault: { code: 'sensors/out-of-range' } }, { key: 'power' }]);
    bench.board.bench.hold('i2c-1:0x40/current', null);
    expect(await sensor.read(signal)).toHaveLength(3);
    expect(sensor.refused?.()).toEqual([]);
  });

  it('an ADS1115 leaves out an input at the end of its range, alone', async () => {
    const channels = { low: { input: 'A0' }, high: { input: 'A1' } };
    const sensor = await boardWith('ads1115', 0x48, { A0: 1.5, A1: 9 }, { channels, samplesPerSecond: 860 });
    expect(await sensor.read(signal)).toMatchObject([{ key: 'low', value: 1.5 }]);
    expect(sensor.refused?.()).toMatchObject([{ key: 'high', fault: { code: 'sensors/out-of-range' } }]);
  });

  it.each(['ads1115', 'ina219', 'sht3x'] as const)('%s gives nothing of a read in which it lost its power', async (kind) => {
    const more = kind === 'ads1115' ? { channels: { A0: { input: 'A0-A1', rangeVolts: 2.048 } } } : {};
    const address = { ads1115: 0x48, ina219: 0x40, sht3x: 0x44 }[kind];
    await (await boardWith(kind, address, { voltage: 12, current: 1, temperature: 20, humidity: 50, 'A0-A1': 1.5 }, more)).close();
    const deps = sensorDeps(bench);
    const cutting = async (ms: number, stop: AbortSignal): Promise<void> => {
      bench.board.bench.fault(`i2c-1:0x${address.toString(16)}`, 'brown-out');
      await deps.clock.sleep(ms, stop);
    };
    const sensor = await createSensor(
      sensorConfig({ name: 'chip', kind, address, ...more }),
      { ...deps, clock: { ...deps.clock, sleep: cutting } },
      signal,
    );
    await expect(sensor.read(signal)).rejects.toMatchObject({ recovery: 'retry' });
  });

  it('a table leaves out what lies outside its limits, alone', async () => {
    const registers = { good: { register: 1, width: 2 }, bad: { register: 5, width: 2, max: 100 } };
    const sensor = await boardWith('i2c-register', 0x60, { good: 7, bad: 101 }, { registers });
    expect(await sensor.read(signal)).toEqual([{ key: 'good', value: 7 }]);
    expect(sensor.refused?.()).toMatchObject([{ key: 'bad', fault: { code: 'sensors/out-of-range' } }]);
  });

  describe('a thermometer', () => {
    const openOn = async (kind: 'tmp102' | 'lm75' | 'mcp9808', celsius: number, more: Readonly<Record<string, unknown>> = {}) => {
      const address = kind === 'mcp9808' ? 0x18 : 0x48;
      bench = await openBoardBench(() => ({
        i2c: [{ bus: 1, chips: [{ kind, address, signals: { temperature: { kind: 'constant', value: celsius } } }] }],
      }));
      return await createSensor(sensorConfig({ name: 'chip', kind, address, ...more }), sensorDeps(bench), signal);
    };

    it.each([25, -10])('tmp102 in extended mode shows %i °C from its first read, and after it lost its power', async (celsius) => {
      const sensor = await openOn('tmp102', celsius, { extended: true });
      expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
      bench.board.bench.fault('i2c-1:0x48', 'brown-out');
      await expect(sensor.read(signal)).rejects.toThrow(/lost its settings/);
      expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
    });

    it.each(['lm75', 'mcp9808'] as const)(
      '%s does not report the 0 °C of a chip that has just been switched on, but a true one',
      async (kind) => {
        const sensor = await openOn(kind, 25);
        expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
        const target = kind === 'mcp9808' ? 'i2c-1:0x18' : 'i2c-1:0x48';
        bench.board.bench.fault(target, 'brown-out');
        expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
        bench.board.bench.hold(`${target}/temperature`, 0);
        expect(await sensor.read(signal)).toMatchObject([{ value: 0 }]);
      },
    );

    it.each(['tmp102', 'lm75', 'mcp9808'] as const)('%s is woken that another program has shut down', async (kind) => {
      const sensor = await openOn(kind, 25);
      await sensor.read(signal);
      const bus = await bench.ports.i2c.openBus(1, signal);
      const address = kind === 'mcp9808' ? 0x18 : 0x48;
      if (kind === 'lm75') await bus.writeRegisters(address, 1, Uint8Array.of(1), signal);
      else await bus.writeWord(address, 1, kind === 'tmp102' ? 0x61a0 : 0x0100, signal);
      bench.board.bench.hold(`i2c-1:0x${address.toString(16)}/temperature`, 30);
      expect(await sensor.read(signal).catch(() => sensor.read(signal))).toMatchObject([{ value: 30 }]);
    });
  });
});
