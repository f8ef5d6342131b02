/** Behaviour of every thermometer of one register, on the board. */
import { describe, expect, it } from 'vitest';
import { chipWith, readsWhatIsShown } from '../../../../test/support/chip-on-board.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../../test/support/sensor-bench.ts';
import type { Ports } from '../../../hardware/ports.ts';
import { silentLog } from '../../../host/log.ts';
import { createSensor } from '../../create-sensor.ts';

const { signal } = new AbortController();

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

it.each([
  ['lm75', 0x4a, {}],
  ['mcp9808', 0x18, {}],
  ['tmp102', 0x48, {}],
  ['tmp102', 0x49, { extended: true }],
] as const)(
  'the %s at %i reads exactly what the board says it showed, and survives a chip that loses its power',
  (kind, address, more) => readsWhatIsShown(kind, address, more),
);

it.each([
  ['lm75', 0x48],
  ['mcp9808', 0x18],
] as const)(
  'the %s does not report the 0 °C of a chip that has just been switched on, but a true one',
  async (kind, address) => {
    const { bench, sensor } = await chipWith(kind, address, { temperature: 25 });
    const chip = `i2c-1:0x${address.toString(16)}`;
    expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
    bench.board.bench.fault(chip, 'brown-out');
    expect(await sensor.read(signal)).toMatchObject([{ value: 25 }]);
    bench.board.bench.hold(`${chip}/temperature`, 0);
    expect(await sensor.read(signal)).toMatchObject([{ value: 0 }]);
    await bench.close();
  },
);

it.each([
  ['lm75', 0x48, [0x01]],
  ['mcp9808', 0x18, [0x01, 0x00]],
  ['tmp102', 0x48, [0x61, 0xa0]],
] as const)('the %s is woken that another program has shut down', async (kind, address, shutDown) => {
  const { bench, sensor } = await chipWith(kind, address, { temperature: 25 });
  await sensor.read(signal);
  const bus = await bench.ports.i2c.openBus(1, signal);
  await bus.writeRegisters(address, 1, Uint8Array.from(shutDown), signal);
  bench.board.bench.hold(`i2c-1:0x${address.toString(16)}/temperature`, 30);
  expect(await sensor.read(signal).catch(() => sensor.read(signal))).toMatchObject([{ value: 30 }]);
  await bench.close();
});

describe('settings that every read looks for', () => {
  it.each([25, -10])(
    'show %i °C in the extended mode from the first read, and after the chip lost its power',
    async (celsius) => {
      const { bench, sensor } = await chipWith('tmp102', 0x48, { temperature: celsius }, { extended: true });
      expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
      bench.board.bench.fault('i2c-1:0x48', 'brown-out');
      await expect(sensor.read(signal)).rejects.toThrow(/lost its settings/);
      expect(await sensor.read(signal)).toMatchObject([{ value: celsius }]);
      await bench.close();
    },
  );
});
