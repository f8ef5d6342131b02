/** The MCP9808 against its sheet, against another library, and on the board. */
import { describe, expect, it } from 'vitest';
import { chipWith, otherLibraries, readsWhatIsShown, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseMcp9808 } from './driver.ts';

const { signal } = new AbortController();

describe('MCP9808', () => {
  // DS25095A, section 5.1.3: the read-out of +25.25 °C is 1100 0001 1001 0100, three alert flags before the sign. Below zero by equation 5-1.
  it('agrees with the example of its data sheet', () => {
    expect(parseMcp9808(0b1100_0001_1001_0100).value).toBe(25.25);
    expect(parseMcp9808(0x1fff).value).toBe(-0.0625);
    expect(parseMcp9808(0x1d80).value).toBe(-40);
  });
  it('never leaves its range', () => withinForAll((word) => [parseMcp9808(word)], [-40, 125]));
});

it('agrees with the library of another maker', async () => {
  const { mcp9808 } = await otherLibraries();
  for (const [word, celsius] of mcp9808) expect(parseMcp9808(word).value).toBe(celsius);
  expect(mcp9808).toHaveLength(60);
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () => readsWhatIsShown('mcp9808', 0x18));

it('does not report the 0 °C of a chip that has just been switched on, but a true one', async () => {
  const { bench, sensor } = await chipWith('mcp9808', 0x18, { temperature: 25 });
  expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
  bench.board.bench.fault('i2c-1:0x18', 'brown-out');
  expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
  bench.board.bench.hold('i2c-1:0x18/temperature', 0);
  expect(await sensor.read(signal)).toMatchObject([{ value: 0 }]);
  await bench.close();
});

it('is woken that another program has shut down', async () => {
  const { bench, sensor } = await chipWith('mcp9808', 0x18, { temperature: 25 });
  await sensor.read(signal);
  const bus = await bench.ports.i2c.openBus(1, signal);
  await bus.writeWord(0x18, 1, 0x0100, signal);
  bench.board.bench.hold('i2c-1:0x18/temperature', 30);
  expect(await sensor.read(signal).catch(() => sensor.read(signal))).toMatchObject([{ value: 30 }]);
  await bench.close();
});
