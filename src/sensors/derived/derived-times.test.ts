/** Derived values of inputs that come at different times, and rounding by digits. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import { MeasuredValues } from '../measured-values.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
let clock: FakeClock;
let files: MemoryFiles;
let values: MeasuredValues;
let heard: Reading[];
beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  values = new MeasuredValues(() => []);
  heard = [];
});
async function derived(written: Readonly<Record<string, string>>): Promise<Sensor> {
  const config = sensorConfig({ name: 'made', kind: 'derived', values: written });
  const deps = {
    ...OF_THIS_MACHINE,
    ports: {} as unknown as Ports,
    clock,
    files,
    log: silentLog,
    stateFolder: '/state',
    values,
  };
  const sensor = await open(config, deps, signal);
  sensor.subscribe?.((readings) => heard.push(...readings));
  return sensor;
}
function measure(sensor: string, read: Readonly<Record<string, number>>): void {
  const stamp = { sensor, bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
  values.recordSamples(Object.entries(read).map(([key, value]) => ({ ...stamp, key, value })));
}

describe('rate', () => {
  it('of two counters read at different times is the sum of both', async () => {
    await derived({ both: 'rate(one) + rate(two)' });
    for (let round = 0; round < 5; round += 1) {
      measure('a', { one: 10 * round });
      await clock.advance(1_000);
      measure('b', { two: 10 * round });
      await clock.advance(9_000);
    }
    // Each rises by 10 in 10 s.
    for (const { value } of heard.slice(2)) expect(value).toBeCloseTo(2, 1);
  });

  it('of one key is not 0 when another key of the expression comes', async () => {
    await derived({ flow: 'rate(litres) * factor' });
    measure('b', { factor: 60 });
    for (let round = 0; round < 4; round += 1) {
      measure('a', { litres: round });
      await clock.advance(500);
      measure('b', { factor: 60 });
      await clock.advance(500);
    }
    expect(heard.map(({ value }) => value)).not.toContain(0);
  });
});

describe('round to places', () => {
  it.each([1e-7, 5.551115123125783e-17])('takes %d, which is 0.00', async (x) => {
    await derived({ r: 'round(x, 2)' });
    measure('a', { x });
    expect(heard.map(({ value }) => value)).toEqual([0]);
  });
  it('takes tens, and great numbers', async () => {
    await derived({ tens: 'round(x, -1)', great: 'round(x * 1e20, 2)' });
    measure('a', { x: 125 });
    expect(heard.map(({ value }) => value)).toEqual([130, 1.25e22]);
  });
  it('of a difference that floats make nearly nothing', async () => {
    await derived({ r: 'round(a - b - c, 2)' });
    measure('a', { a: 0.3, b: 0.1, c: 0.2 });
    expect(heard.map(({ value }) => value === 0)).toEqual([true]);
  });
});

describe('integral', () => {
  it('over two keys of different times', async () => {
    const sensor = await derived({ e: 'integral(u * i)' });
    measure('b', { u: 230 });
    for (let round = 0; round <= 3600; round += 1) {
      measure('a', { i: 10 });
      await clock.advance(300);
      measure('b', { u: 230 });
      await clock.advance(700);
    }
    expect(Number(heard.at(-1)?.value)).toBeCloseTo(2300, -1);
    await sensor.close();
  });
});
