/** The MCP9808's data against its sheet, and against another library. */
import { expect, it } from 'vitest';
import { otherLibraries, readsOfRegisters, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseTemperature } from '../families/thermometers/driver.ts';
import { MCP9808 } from './definition.ts';

// DS25095A, register 5-1, and section 5.1.3: the read-out of +25.25 °C is 1100 0001 1001 0100, three alert flags before the sign. Below zero
// by equation 5-1.
it('agrees with the example of its data sheet', async () => {
  const registers = [0b1100_0001_1001_0100, 0x1fff, 0x1d80].map((word) => ({
    1: 0,
    5: word,
    6: 0x0054,
    7: 0x0400,
    8: 0x0300,
  }));
  expect(await readsOfRegisters('mcp9808', registers)).toEqual([25.25, -0.0625, -40]);
});

it('is told from a chip of another maker', async () => {
  const registers = { 1: 0, 5: 0xc194, 6: 0x0055, 7: 0x0400, 8: 0x0300 };
  await expect(readsOfRegisters('mcp9808', [registers])).rejects.toMatchObject({ code: 'sensors/wrong-chip' });
});

it('never leaves its range', () => withinForAll((word) => [parseTemperature(MCP9808, word)], [-40, 125]));

it('agrees with the library of another maker', async () => {
  const { mcp9808 } = await otherLibraries();
  for (const [word, celsius] of mcp9808) expect(parseTemperature(MCP9808, word).value).toBe(celsius);
  expect(mcp9808).toHaveLength(60);
});
