/** The ADS1115 against its sheet, against another library, and on the board. */
import { describe, expect, it } from 'vitest';
import {
  chipWith,
  givesNothingWithoutPower,
  otherLibraries,
  readsWhatIsShown,
  withinForAll,
} from '../../../test/support/chip-on-board.ts';
import { ads1115Config, parseAds1115 } from './driver.ts';

const { signal } = new AbortController();

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
    expect(ads1115Config({ input: 'A3', rangeVolts: 4.096 }, 860)).toBe(
      0x8000 | (7 << 12) | (1 << 9) | 0x100 | (7 << 5) | 4 | 3,
    );
  });
  it('never leaves its range', () => withinForAll((word) => [parseAds1115('x', 0.256, word)], [-0.256, 0.256]));
});

it('agrees with the library of another maker', async () => {
  const { ads1115 } = await otherLibraries();
  for (const [word, rangeVolts, volts] of ads1115)
    expect(parseAds1115('x', rangeVolts, word).value).toBeCloseTo(volts, 6);
  expect(ads1115).toHaveLength(60);
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () =>
  readsWhatIsShown('ads1115', 0x4b, {
    channels: { A0: { input: 'A0' }, 'A1-A3': { input: 'A1-A3', rangeVolts: 0.256 } },
    samplesPerSecond: 860,
  }));

it('an ADS1115 leaves out an input at the end of its range, alone', async () => {
  const channels = { low: { input: 'A0' }, high: { input: 'A1' } };
  const { bench, sensor } = await chipWith('ads1115', 0x48, { A0: 1.5, A1: 9 }, { channels, samplesPerSecond: 860 });
  expect(await sensor.read(signal)).toMatchObject([{ key: 'low', value: 1.5 }]);
  expect(sensor.refused?.()).toMatchObject([{ key: 'high', fault: { code: 'sensors/out-of-range' } }]);
  await bench.close();
});

it('gives nothing of a read in which it lost its power', () =>
  givesNothingWithoutPower('ads1115', 0x48, { channels: { A0: { input: 'A0-A1', rangeVolts: 2.048 } } }));
