import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench, until } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { systemClock } from '../../host/clock.ts';
import { frequencyOf, open as openGpioFrequency } from './driver.ts';

const { signal } = new AbortController();
const clean: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of clean.splice(0)) await undo();
});

async function pulses(hz: number): Promise<BoardBench> {
  const bench = await openBoardBench(() => ({
    gpio: [{ names: { 5: 'METER' }, inputs: [{ offset: 5, signal: { kind: 'square', hz } }] }],
  }));
  clean.push(() => bench.close());
  return bench;
}

describe('a frequency', () => {
  it('is none of a line whose chip was pulled out, and is measured again when the chip is back', async () => {
    const bench = await pulses(100);
    const config = sensorConfig({ name: 'fan', kind: 'gpio-frequency', line: 'METER', gate: '100ms' });
    const sensor = await openGpioFrequency(config, sensorDeps(bench), signal);
    bench.board.bench.fault('gpiochip0', 'unplug');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/gpio-failed', recovery: 'retry' });
    bench.board.bench.fault('gpiochip0', null);
    await until('a frequency', async () => Number((await sensor.read(signal))[0]?.value) > 0);
    await sensor.close();
  });

  it('is measured from the times of the edges', async () => {
    const bench = await pulses(50);
    const sensor = await openGpioFrequency(
      sensorConfig({ name: 'fan', kind: 'gpio-frequency', line: 'METER', gate: '400ms' }),
      sensorDeps(bench),
      signal,
    );
    const fromMs = systemClock.monotonicMs();
    const [reading] = await sensor.read(signal);
    const rises = (await bench.record()).filter(
      ({ kind, value, atMs }) => kind === 'input' && value === 1 && atMs >= fromMs && atMs <= fromMs + 400,
    );
    const happened = ((rises.length - 1) * 1_000) / ((rises.at(-1)?.atMs ?? 0) - (rises[0]?.atMs ?? 0));
    expect(reading).toMatchObject({ key: 'frequency', unit: 'Hz' });
    expect(Math.abs(Number(reading?.value) - happened)).toBeLessThan(0.15 * happened);
    await sensor.close();
  });

  it('is not told of a gate that its deadline cut short', async () => {
    const bench = await pulses(50);
    const config = sensorConfig({ name: 'fan', kind: 'gpio-frequency', line: 'METER', gate: '400ms' });
    const sensor = await openGpioFrequency(config, sensorDeps(bench), signal);
    await expect(sensor.read(AbortSignal.timeout(100))).rejects.toMatchObject({ code: 'hardware/deadline' });
    await sensor.close();
  });

  it('counts whole periods, those the kernel could not deliver too', () => {
    const edge = (monotonicMs: number, missed = 0) => ({ level: 1 as const, monotonicMs, missed });
    expect(frequencyOf([])).toBe(0);
    expect(frequencyOf([edge(5)])).toBe(0); // one edge is no period, however long the gate
    expect(frequencyOf([edge(0), edge(20), edge(40)])).toBe(50);
    expect(frequencyOf([edge(0), edge(40, 1)])).toBe(50);
  });
});
