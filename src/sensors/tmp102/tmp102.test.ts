/** The TMP102's data against its sheet. */
import { expect, it } from 'vitest';
import { readsOfRegisters, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseTemperature } from '../families/thermometers/driver.ts';
import { TMP102 } from './definition.ts';

// SBOS397C (October 2012), table 5 "12-Bit Temperature Data Format" and table 6 "13-Bit Temperature Data Format".
it('agrees with the tables of its data sheet', async () => {
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
  const ofTwelve = Object.keys(twelve).map((hex) => ({ 0: Number.parseInt(hex, 16) << 4, 1: 0x60a0 }));
  expect(await readsOfRegisters('tmp102', ofTwelve)).toEqual(Object.values(twelve));
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
  const ofThirteen = Object.keys(thirteen).map((hex) => ({ 0: (Number.parseInt(hex, 16) << 3) | 1, 1: 0x60a0 }));
  expect(await readsOfRegisters('tmp102', ofThirteen, { extended: true })).toEqual(Object.values(thirteen));
});

it('never leaves its range', () => {
  withinForAll((word) => [parseTemperature(TMP102, word & ~1)], [-55, 127.875]);
  withinForAll((word) => [parseTemperature(TMP102, word | 1)], [-55, 150]);
});

it('is not believed at the end of its 12 bits, where it may be any hotter', () => {
  expect(() => parseTemperature(TMP102, 0x7ff0)).toThrow(/outside/);
  expect(parseTemperature(TMP102, 0x3fff).value).toBe(127.9375); // 13 bits go on
});
