/** The LM75 against its sheet, and on the board. */
import { describe, expect, it } from 'vitest';
import { chipWith, readsWhatIsShown, withinForAll } from '../../../test/support/chip-on-board.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import { createSensor } from '../create-sensor.ts';
import { parseLm75 } from './driver.ts';

const { signal } = new AbortController();

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

it('reads exactly what the board says it showed, and survives a chip that loses its power', () => readsWhatIsShown('lm75', 0x4a));

it('does not report the 0 °C of a chip that has just been switched on, but a true one', async () => {
  const { bench, sensor } = await chipWith('lm75', 0x48, { temperature: 25 });
  expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
  bench.board.bench.fault('i2c-1:0x48', 'brown-out');
  expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
  bench.board.bench.hold('i2c-1:0x48/temperature', 0);
  expect(await sensor.read(signal)).toMatchObject([{ value: 0 }]);
  await bench.close();
});

it('is woken that another program has shut down', async () => {
  const { bench, sensor } = await chipWith('lm75', 0x48, { temperature: 25 });
  await sensor.read(signal);
  const bus = await bench.ports.i2c.openBus(1, signal);
  await bus.writeRegisters(0x48, 1, Uint8Array.of(1), signal);
  bench.board.bench.hold('i2c-1:0x48/temperature', 30);
  expect(await sensor.read(signal).catch(() => sensor.read(signal))).toMatchObject([{ value: 30 }]);
  await bench.close();
});
