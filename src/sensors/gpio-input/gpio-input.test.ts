import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench, until } from '../../../test/support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Reading } from '../kind/sensor.ts';
import { open as openGpioInput } from './driver.ts';

const { signal } = new AbortController();
let bench: BoardBench;
afterEach(() => bench.close());

describe('a GPIO input', () => {
  it('gives its state when read, and each change with the time at which it happened', async () => {
    bench = await openBoardBench(() => ({
      gpio: [{ names: { 4: 'DOOR' }, inputs: [{ offset: 4, key: 'door', signal: { kind: 'square', hz: 50 } }] }],
    }));
    const sensor = await openGpioInput(
      sensorConfig({ name: 'door', kind: 'gpio-input', line: 'DOOR' }),
      sensorDeps(bench),
      signal,
    );
    const seen: Reading[] = [];
    sensor.subscribe?.((readings) => seen.push(...readings));
    await until('twenty changes', () => seen.length >= 20);
    await sensor.close();
    const happened = (await bench.record())
      .filter(({ kind }) => kind === 'input')
      .map(({ atMs, value }) => [atMs, value === 1]);
    const told = seen.map(({ monotonicMs, value }) => [monotonicMs, value]);
    const from = happened.findIndex(([atMs]) => atMs === told[0]?.[0]);
    expect(told).toEqual(happened.slice(from, from + told.length));
  });

  it('reads an active-low contact as active when it is low', async () => {
    bench = await openBoardBench(() => ({ gpio: [{}] }));
    const sensor = await openGpioInput(
      sensorConfig({ name: 'key', kind: 'gpio-input', line: { chip: 'simulated', offset: 3 }, activeLow: true }),
      sensorDeps(bench),
      signal,
    );
    expect(await sensor.read(signal)).toEqual([{ key: 'state', value: true }]);
  });
});
