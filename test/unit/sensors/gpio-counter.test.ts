import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { silentLog } from '../../../src/host/log.ts';
import { openGpioCounter, SavedTotal } from '../../../src/sensors/gpio-counter.ts';
import { frequencyOf, openGpioFrequency } from '../../../src/sensors/gpio-frequency.ts';
import { type BoardBench, openBoardBench, until } from '../../support/board-bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const signal = AbortSignal.timeout(60_000);
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

describe('a pulse counter', () => {
  it('counts every pulse of 200 edges a second, and goes on from its total after a restart', async () => {
    const bench = await pulses(100);
    const config = sensorConfig({ name: 'water', kind: 'gpio-counter', line: 'METER' });
    const total = async (): Promise<number> => Number((await sensor.read(signal))[0]?.value);
    const pulsesBetween = async (fromMs: number, toMs: number): Promise<number> =>
      (await bench.record()).filter(({ kind, value, atMs }) => kind === 'input' && value === 1 && atMs >= fromMs && atMs <= toMs).length;
    const openingMs = systemClock.monotonicMs();
    let sensor = await openGpioCounter(config, sensorDeps(bench), signal);
    const openMs = systemClock.monotonicMs();
    await until('fifty pulses', async () => (await total()) >= 50);
    const closingMs = systemClock.monotonicMs();
    await sensor.close();
    const saved = Number(
      (JSON.parse(await readFile(join(bench.folder, 'counters/water.json'), 'utf8')) as { readonly total: number }).total,
    );
    expect(saved).toBeGreaterThanOrEqual(await pulsesBetween(openMs, closingMs - 5)); // what happened last may still be under way
    expect(saved).toBeLessThanOrEqual(await pulsesBetween(openingMs, systemClock.monotonicMs()));
    sensor = await openGpioCounter(config, sensorDeps(bench), signal);
    expect(await total()).toBeGreaterThanOrEqual(saved);
    expect(await total()).toBeLessThanOrEqual(saved + (await pulsesBetween(closingMs, systemClock.monotonicMs())));
    const before = (await sensor.read(signal))[0]?.value;
    const fromMs = systemClock.monotonicMs();
    await new Promise((resolve) => setTimeout(resolve, 250));
    const [after, rate] = await sensor.read(signal);
    const expected = ((Number(after?.value) - Number(before)) * 1_000) / (systemClock.monotonicMs() - fromMs);
    expect(rate?.key).toBe('rate');
    expect(Math.abs(Number(rate?.value) - expected)).toBeLessThan(0.1 * expected);
    await sensor.close();
  });
});

describe('a counter whose chip is pulled out', () => {
  // Found in the lab: the total stood still, and nobody was told.
  it('fails instead of counting nothing, and counts on when the chip is back', async () => {
    const bench = await pulses(100);
    const sensor = await openGpioCounter(sensorConfig({ name: 'water', kind: 'gpio-counter', line: 'METER' }), sensorDeps(bench), signal);
    bench.board.bench.fault('gpiochip0', 'unplug');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/gpio-failed', recovery: 'retry' });
    bench.board.bench.fault('gpiochip0', null);
    await until('pulses', async () => Number((await sensor.read(signal))[0]?.value) > 3);
    await sensor.close();
  });
});

describe('SavedTotal', () => {
  const open = async (folder: string, clock: FakeClock): Promise<SavedTotal> =>
    await SavedTotal.open(folder, 'water', { clock, log: silentLog, saveEveryMs: 60_000 });
  const folderOf = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-counter-'));
    clean.push(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };

  it('writes once in its interval however many pulses come, and nothing when none come', async () => {
    const [folder, clock] = [await folderOf(), new FakeClock()];
    const total = await open(folder, clock);
    for (let at = 0; at < 1_000; at += 1) total.add(1);
    expect(clock.pending).toBe(1);
    await clock.advance(60_001);
    await until('the write', () =>
      readFile(join(folder, 'water.json'), 'utf8').then(
        (text) => text.includes('"total":1000'),
        () => false,
      ),
    );
    expect(clock.pending).toBe(0);
    total.add(2);
    await total.close();
    expect((await open(folder, clock)).count).toBe(1_002);
  });

  it('loses only what came after the last write when it is killed', async () => {
    const [folder, clock] = [await folderOf(), new FakeClock()];
    const total = await open(folder, clock);
    total.add(10);
    await clock.advance(60_001);
    await until('the write', () =>
      readFile(join(folder, 'water.json'), 'utf8').then(
        () => true,
        () => false,
      ),
    );
    total.add(5); // killed before the next
    expect((await open(folder, clock)).count).toBe(10);
  });

  it('sets a file aside that it cannot read, and counts from 0', async () => {
    const [folder, clock] = [await folderOf(), new FakeClock()];
    for (const wrong of [
      '{"format":"turnstone-counter","version":2,"total":5}',
      '{"format":"turnstone-counter","version":1,"total":-5}',
      'rubbish',
    ]) {
      await writeFile(join(folder, 'water.json'), wrong);
      expect((await open(folder, clock)).count).toBe(0);
      expect(await readFile(join(folder, 'water.json.corrupt'), 'utf8')).toBe(wrong);
    }
  });
});

describe('a frequency', () => {
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

  it('counts whole periods, those the kernel could not deliver too', () => {
    const edge = (monotonicMs: number, missed = 0) => ({ level: 1 as const, monotonicMs, missed });
    expect(frequencyOf([], 1_000)).toBe(0);
    expect(frequencyOf([edge(5)], 1_000)).toBe(1);
    expect(frequencyOf([edge(0), edge(20), edge(40)], 1_000)).toBe(50);
    expect(frequencyOf([edge(0), edge(40, 1)], 1_000)).toBe(50);
  });
});
