/** The INA219 against its sheet, against another library, and on the board. */
import { describe, expect, it } from 'vitest';
import {
  chipWith,
  givesNothingWithoutPower,
  otherLibraries,
  RUNS,
  readsWhatIsShown,
  refusedOf,
  valuesOf,
} from '../../../test/support/chip-on-board.ts';
import { forRandomBytes } from '../../../test/support/random-bytes.ts';
import { sorted } from '../kind/outcome.ts';
import { ina219Config, parseIna219 } from './driver.ts';

const { signal } = new AbortController();

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
    expect(valuesOf(parseIna219(config, { voltage: 0x5d98, shunt: 0x8301 }))).toEqual([11.98, -3.1999, -38.334802]);
    expect(refusedOf(parseIna219({ ...config, maxAmperes: 0.8 }, { voltage: 0x5d98, shunt: 0x1f40 }))).toEqual([
      'current',
      'power',
    ]);
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
  // -16 mV is F9C0h, -1 mV FF9Ch; 13 V is 3250 steps of 4 mV, 5 V 1250.
  it('gives the power the sign of its current', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 as const };
    expect(valuesOf(parseIna219(config, { voltage: 3_250 << 3, shunt: 0xf9c0 }))).toEqual([13, -0.16, -2.08]);
    expect(valuesOf(parseIna219(config, { voltage: 1_250 << 3, shunt: 0xff9c }))).toEqual([5, -0.01, -0.05]);
  });
  it('never leaves its range', () => {
    const config = { shuntOhms: 0.1, maxAmperes: 3.2, busRangeVolts: 32 as const };
    forRandomBytes(RUNS, 8, (bytes) => {
      for (const { key, value } of sorted(
        parseIna219(config, { voltage: bytes.readUInt16BE(0), shunt: bytes.readUInt16BE(2) }),
      ).readings) {
        const greatest = { voltage: 32, current: 3.2, power: 102.4 }[key] ?? 0;
        if (!(Math.abs(Number(value)) < greatest)) throw new Error(`${key} ${value} was reported as good`);
      }
    });
  });
});

it('agrees with the library of another maker', async () => {
  const { ina219 } = await otherLibraries();
  const config = { shuntOhms: 1, maxAmperes: 0.32, busRangeVolts: 32 as const };
  for (const [voltage, shunt, volts, shuntVolts] of ina219)
    expect(valuesOf(parseIna219(config, { voltage, shunt })).slice(0, 2)).toEqual([
      expect.closeTo(volts, 6),
      expect.closeTo(shuntVolts, 6),
    ]);
  expect(ina219).toHaveLength(60);
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () =>
  readsWhatIsShown('ina219', 0x40));

it('an INA219 shows its current at the first read, and leaves it out past the end of its amplifier, alone', async () => {
  const { bench, sensor } = await chipWith('ina219', 0x40, { voltage: 12, current: 1.5 });
  expect((await sensor.read(signal)).map(({ value }) => value)).toEqual([12, 1.5, 18]);
  bench.board.bench.hold('i2c-1:0x40/current', 8);
  expect((await sensor.read(signal)).map(({ key }) => key)).toEqual(['voltage']);
  expect(sensor.refused?.()).toMatchObject([
    { key: 'current', fault: { code: 'sensors/out-of-range' } },
    { key: 'power' },
  ]);
  bench.board.bench.hold('i2c-1:0x40/current', null);
  expect(await sensor.read(signal)).toHaveLength(3);
  expect(sensor.refused?.()).toEqual([]);
  await bench.close();
});

it('gives nothing of a read in which it lost its power', () => givesNothingWithoutPower('ina219', 0x40));
