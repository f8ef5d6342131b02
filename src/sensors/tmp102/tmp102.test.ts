/** The TMP102 against its sheet, and on the board. */
import { describe, expect, it } from 'vitest';
import { chipWith, readsWhatIsShown, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseTmp102 } from './driver.ts';

const { signal } = new AbortController();

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

it.each([
  [0x48, {}],
  [0x49, { extended: true }],
] as const)('at %i reads exactly what the board says it showed, and survives a chip that loses its power', (address, more) =>
  readsWhatIsShown('tmp102', address, more),
);

it.each([25, -10])('in extended mode shows %i °C from its first read, and after it lost its power', async (celsius) => {
  const { bench, sensor } = await chipWith('tmp102', 0x48, { temperature: celsius }, { extended: true });
  expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
  bench.board.bench.fault('i2c-1:0x48', 'brown-out');
  await expect(sensor.read(signal)).rejects.toThrow(/lost its settings/);
  expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
  await bench.close();
});

it('is woken that another program has shut down', async () => {
  const { bench, sensor } = await chipWith('tmp102', 0x48, { temperature: 25 });
  await sensor.read(signal);
  const bus = await bench.ports.i2c.openBus(1, signal);
  await bus.writeWord(0x48, 1, 0x61a0, signal);
  bench.board.bench.hold('i2c-1:0x48/temperature', 30);
  expect(await sensor.read(signal).catch(() => sensor.read(signal))).toMatchObject([{ value: 30 }]);
  await bench.close();
});
