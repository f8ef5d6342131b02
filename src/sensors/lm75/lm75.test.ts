/** The LM75's data against its sheet. */
import { expect, it } from 'vitest';
import { readsOfRegisters, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseTemperature } from '../families/thermometers/driver.ts';
import { LM75 } from './definition.ts';

// NXP LM75B, rev. 6.1, table 5 "Register table" and section 7.4.3, table 10 "Temp register value".
it('agrees with the tables of its data sheet', async () => {
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
  const registers = Object.keys(table).map((hex) => ({ 0: Number.parseInt(hex, 16) << 5, 1: 0, 2: 0x4b00, 3: 0x5000 }));
  expect(await readsOfRegisters('lm75', registers)).toEqual(Object.values(table));
});

it('is not believed at the end of its 9 or 11 bits', () => {
  expect(() => parseTemperature(LM75, 0x7f80)).toThrow(/outside/);
  expect(() => parseTemperature(LM75, 0x7fe0)).toThrow(/outside/);
});

it('never leaves its range', () => withinForAll((word) => [parseTemperature(LM75, word)], [-55, 127.375]));
