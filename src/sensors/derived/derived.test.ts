/** Values made of those of other sensors: when they come, with which time, and what is missing. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { MeasuredValues } from '../measured-values.ts';
import { open } from './driver.ts';

const { signal } = new AbortController();
const ports = {} as unknown as Ports; // it asks none

let clock: FakeClock;
let files: MemoryFiles;
let values: MeasuredValues;
let heard: Reading[];

beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  values = new MeasuredValues(() => [
    sensorConfig({ name: 'meter', kind: 'ina219', keys: { u: { rename: 'voltage' } } }),
  ]);
  heard = [];
});

async function derived(written: Readonly<Record<string, string>>): Promise<Sensor> {
  const config = sensorConfig({ name: 'made', kind: 'derived', values: written });
  const sensor = await open(
    config,
    { ...OF_THIS_MACHINE, ports, clock, files, log: silentLog, stateFolder: '/state', values },
    signal,
  );
  sensor.subscribe?.((readings) => heard.push(...readings));
  return sensor;
}

function measure(
  sensor: string,
  read: Readonly<Record<string, number | boolean | string>>,
  more: Partial<Reading> = {},
): void {
  const stamp = { sensor, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), ...more };
  values.recordSamples(Object.entries(read).map(([key, value]) => ({ ...stamp, key, value })));
}

function state(name: string, failing: boolean, refused: readonly string[] = []): void {
  const fault = sensorFault('silent', 'nobody answers');
  values.recordState({
    name,
    kind: 'x',
    periodMs: 1,
    readings: [],
    reads: 1,
    failures: 0,
    missed: 0,
    state: failing ? 'failing' : 'working',
    ...(failing && { error: fault }),
    refused: refused.map((key) => ({ key, code: fault.code, message: fault.message })),
  });
}

describe('a derived value', () => {
  it('is calculated once for a read that gives several of its keys, under the names of the platform, with the newest time', async () => {
    const sensor = await derived({ power: 'voltage * current', isHigh: 'voltage > 240' });
    measure('meter', { u: 230, current: 2 });
    await clock.advance(1_000);
    measure('meter', { u: 250, current: 1 });
    expect(heard.map(({ key, value }) => [key, value])).toEqual([
      ['power', 460],
      ['isHigh', false],
      ['power', 250],
      ['isHigh', true],
    ]);
    expect(heard[2]?.monotonicMs).toBe((heard[0]?.monotonicMs ?? 0) + 1_000);
    expect(sensor.refused?.()).toEqual([]);
    await sensor.close();
    measure('meter', { u: 1, current: 1 });
    expect(heard).toHaveLength(4);
  });

  it.each([
    ['the first', { a: 5_000, b: 1_000 }, 5_000],
    ['the last', { a: 1_000, b: 5_000 }, 5_000],
  ])('has the time of its newest input, also when that is %s of its keys', async (_which, times, newestMs) => {
    await derived({ sum: 'a + b' });
    measure('one', { a: 1 }, { monotonicMs: times.a, takenAtMs: times.a + 100_000 });
    measure('other', { b: 2 }, { monotonicMs: times.b, takenAtMs: times.b + 100_000 });
    expect(heard).toEqual([
      expect.objectContaining({ key: 'sum', value: 3, monotonicMs: newestMs, takenAtMs: newestMs + 100_000 }),
    ]);
  });

  it('is missing, and says of which key and why, while a key has not come, is refused, or its sensor fails', async () => {
    const sensor = await derived({ sum: 'a + b', double: 'a * 2' });
    await expect(sensor.read(signal)).rejects.toMatchObject({
      code: 'sensors/no-input',
      message: 'a has not come yet',
    });
    const missing = (): unknown => sensor.refused?.().map(({ key, fault }) => [key, fault.message]);
    measure('one', { a: 1 });
    expect([heard, missing()]).toEqual([
      [expect.objectContaining({ key: 'double', value: 2 })],
      [['sum', 'b has not come yet']],
    ]);
    expect(await sensor.read(signal)).toEqual([]);
    measure('other', { b: 2 });
    expect(heard.at(-1)).toMatchObject({ key: 'sum', value: 3 });
    state('other', false, ['b']);
    measure('one', { a: 1 });
    expect(missing()).toEqual([['sum', 'b is missing: nobody answers']]);
    state('other', true);
    measure('one', { a: 1 });
    expect(missing()).toEqual([['sum', 'b is missing, as other fails: nobody answers']]);
    state('one', true);
    await expect(sensor.read(signal)).rejects.toThrow('a is missing, as one fails');
    state('one', false);
    state('other', false);
    values.forget('other');
    measure('one', { a: 1 });
    expect(missing()).toEqual([['sum', 'b has not come yet']]);
  });

  it('is refused alone where its keys cannot be calculated with', async () => {
    const sensor = await derived({ sum: 'a + b', share: 'a / b', text: 'name' });
    measure('one', { a: 1, b: 'x', name: 'n' });
    expect(heard.map(({ key }) => key)).toEqual(['text']);
    expect(sensor.refused?.().map(({ key, fault }) => [key, fault.code])).toEqual([
      ['sum', 'sensors/bad-expression'],
      ['share', 'sensors/bad-expression'],
    ]);
    measure('one', { a: 1, b: 0 });
    expect(sensor.refused?.().map(({ key, fault }) => [key, fault.message])).toEqual([
      ['share', 'the expression gives no number'],
    ]);
  });

  it('is calculated at once where its keys came before, as after a reload', async () => {
    measure('meter', { u: 230, current: 2 });
    await derived({ power: 'voltage * current', other: 'gone + 1' });
    expect(heard.map(({ key, value }) => [key, value])).toEqual([['power', 460]]);
  });

  it('fails as a whole when none of its values can be calculated', async () => {
    const sensor = await derived({ sum: 'a + b' });
    measure('one', { a: 1, b: 'x' });
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'sensors/bad-expression' });
    measure('one', { b: 1 });
    expect(await sensor.read(signal)).toEqual([]);
  });

  it('is a part where one of its keys is', async () => {
    await derived({ twice: '2 * a' });
    measure('one', { a: 1 }, { isPart: true });
    expect(heard).toEqual([expect.objectContaining({ key: 'twice', value: 2, isPart: true })]);
  });
});

describe('a value that remembers', () => {
  it('has a rate and a difference from the second evaluation on, without a fault before', async () => {
    const sensor = await derived({ flow: 'rate(total) * 60', step: 'difference(total)' });
    measure('meter', { total: 100 });
    expect([heard, sensor.refused?.()]).toEqual([[], []]);
    await clock.advance(2_000);
    measure('meter', { total: 101 });
    expect(heard.map(({ key, value }) => [key, value])).toEqual([
      ['flow', 30],
      ['step', 1],
    ]);
  });

  it('sums up over hours, leaves gaps out, shows what is on the disk, and goes on after a restart', async () => {
    const first = await derived({ energy: 'integral(power) / 1000' });
    measure('meter', { power: 1_000 });
    for (let minute = 0; minute < 30; minute += 1) {
      await clock.advance(60_000);
      measure('meter', { power: 1_000 });
    }
    await first.close();
    const shown = heard.map(({ value }) => Number(value));
    expect(shown).toEqual(shown.toSorted((one, other) => one - other));
    expect(shown.at(-1)).toBeGreaterThan(0.45);
    heard = [];
    const second = await derived({ energy: 'integral(power) / 1000' });
    measure('meter', { power: 1_000 });
    expect(heard.at(-1)?.value).toBeCloseTo(0.5, 9);
    await clock.advance(3_600_000);
    measure('meter', { power: 1_000 });
    await clock.advance(60_000);
    measure('meter', { power: 1_000 });
    expect(heard.at(-1)?.value).toBeCloseTo(0.5, 9);
    await second.close();
    heard = [];
    await derived({ energy: 'integral(power) / 1000' });
    measure('meter', { power: 0 });
    expect(heard.at(-1)?.value).toBeCloseTo(0.5 + 1 / 60, 9);
  });

  it.each([
    [15, [15, 15, 15, 15], 45],
    [60, [60, 60, 60], 120],
    [30, [30, 30, 90, 30, 20], 80],
    [1, [1, 1, 120, 1], 3],
  ])(
    'sums up values that come each %d minutes, and leaves out what is longer than theirs',
    async (_, waits, minutes) => {
      const sensor = await derived({ energy: 'integral(power) / 1000' });
      measure('meter', { power: 1_000 });
      for (const wait of waits) {
        await clock.advance(wait * 60_000);
        measure('meter', { power: 1_000 });
      }
      await sensor.close();
      await derived({ energy: 'integral(power) / 1000' });
      measure('meter', { power: 1_000 });
      expect(heard.at(-1)?.value).toBeCloseTo(minutes / 60, 9);
    },
  );
});
