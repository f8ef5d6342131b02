import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench, until } from '../../../test/support/board-bench.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { LineEdge } from '../../hardware/gpio-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { systemClock } from '../../host/clock.ts';
import { type Files, systemFiles } from '../../host/files.ts';
import { silentLog } from '../../host/log.ts';
import { sealJson } from '../../store/sealed-json.ts';
import { SavedTotal } from '../families/totals/saved-total.ts';
import { open as openGpioCounter } from './driver.ts';

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

describe('a pulse counter', () => {
  it('counts every pulse of 200 edges a second, and goes on from its total after a restart', async () => {
    const bench = await pulses(100);
    const config = sensorConfig({ name: 'water', kind: 'gpio-counter', line: 'METER', saveEvery: '1s' });
    const value = async (key: string): Promise<unknown> =>
      (await sensor.read(signal)).find((reading) => reading.key === key)?.value;
    const total = async (): Promise<number> => {
      let read: unknown;
      await until('a total', async () => {
        read = await value('total');
        return read !== undefined;
      });
      return Number(read);
    };
    const pulsesBetween = async (fromMs: number, toMs: number): Promise<number> =>
      (await bench.record()).filter(
        ({ kind, value, atMs }) => kind === 'input' && value === 1 && atMs >= fromMs && atMs <= toMs,
      ).length;
    const openingMs = systemClock.monotonicMs();
    let sensor = await openGpioCounter(config, sensorDeps(bench), signal);
    const openMs = systemClock.monotonicMs();
    await until('fifty pulses', async () => (await total()) >= 50);
    const happened = await pulsesBetween(openMs, systemClock.monotonicMs());
    // The last of them may be on their way.
    await until('every pulse', async () => (await total()) >= happened);
    const closingMs = systemClock.monotonicMs();
    await sensor.close();
    const saved = Number(
      (JSON.parse(await readFile(join(bench.folder, 'counters/water.json'), 'utf8')) as { readonly total: number })
        .total,
    );
    expect(saved).toBeGreaterThanOrEqual(happened);
    expect(saved).toBeLessThanOrEqual(await pulsesBetween(openingMs, systemClock.monotonicMs()));
    sensor = await openGpioCounter(config, sensorDeps(bench), signal);
    expect(await total()).toBeGreaterThanOrEqual(saved);
    expect(await total()).toBeLessThanOrEqual(saved + (await pulsesBetween(closingMs, systemClock.monotonicMs())));
    // How fast it counts is reckoned below, by a clock that stands still; here it is as fast as the pulses come, at most.
    let rate = 0;
    await until('a rate', async () => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      rate = Number((await value('rate')) ?? 0);
      return rate > 0;
    });
    const most = await pulsesBetween(closingMs, systemClock.monotonicMs());
    expect(rate * 0.25).toBeLessThanOrEqual(most);
    await sensor.close();
  });
});

describe('a counter whose disk does not answer', () => {
  it('watches its line at once, and tells how fast it counts', async () => {
    const clock = new FakeClock();
    const files = new MemoryFiles();
    files.addFaults({ fail: () => ({ code: 'EIO' }) });
    let edge: (edge: LineEdge) => void = () => {};
    const input = { watch: (listener: typeof edge) => (edge = listener), read: async () => 1, close: async () => {} };
    const ports = { gpio: { openInput: async () => input } } as unknown as Ports; // the only port that it asks
    const config = sensorConfig({ name: 'water', kind: 'gpio-counter', line: 'GPIO5' });
    const deps = { ...OF_THIS_MACHINE, ports, clock, files, log: silentLog, stateFolder: '/state' };
    const sensor = await openGpioCounter(config, deps, signal);
    expect(await sensor.read(signal)).toEqual([]);
    // No time has passed, so there is no rate.
    expect(await sensor.read(signal)).toEqual([]);
    for (let n = 0; n < 3; n += 1) edge({ level: 1, monotonicMs: clock.monotonicMs(), missed: 0 });
    await clock.advance(1_000);
    expect(await sensor.read(signal)).toEqual([{ key: 'rate', value: 3, unit: '1/s' }]);
    await sensor.close();
  });
});

describe('a counter whose chip is pulled out', () => {
  // Found in the lab: the total stood still, and nobody was told.
  it('fails instead of counting nothing, and counts on when the chip is back', async () => {
    const bench = await pulses(100);
    const config = sensorConfig({ name: 'water', kind: 'gpio-counter', line: 'METER', saveEvery: '1s' });
    const sensor = await openGpioCounter(config, sensorDeps(bench), signal);
    const total = async () => (await sensor.read(signal)).find(({ key }) => key === 'total')?.value;
    bench.board.bench.fault('gpiochip0', 'unplug');
    await expect(sensor.read(signal)).rejects.toMatchObject({ code: 'hardware/gpio-failed', recovery: 'retry' });
    bench.board.bench.fault('gpiochip0', null);
    await until('pulses', async () => Number(await total()) > 3);
    await sensor.close();
  });
});

describe('SavedTotal', () => {
  const open = async (folder: string, clock: FakeClock, files: Files = systemFiles): Promise<SavedTotal> => {
    const total = new SavedTotal(folder, 'water', { files, clock, log: silentLog, saveEveryMs: 60_000 });
    await total.load();
    return total;
  };
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

  it('reports no total that a kill takes back, and writes for reads once in its interval', async () => {
    const [files, clock] = [new MemoryFiles(), new FakeClock()];
    const writes = (): number => files.changes.filter((change) => change.startsWith('rename')).length;
    const total = await open('/counters', clock, files);
    expect([await total.saved(), writes()]).toEqual([0, 0]);
    for (let reported = 0, at = 0; at < 300; at += 1) {
      total.add(1);
      reported = Math.max(reported, (await total.saved()) ?? 0);
      const killed = await open('/counters', clock, files);
      expect(killed.count).toBeGreaterThanOrEqual(reported);
      expect(killed.count).toBeGreaterThan(at - 61);
      await clock.advance(1_000);
    }
    expect(writes()).toBeLessThanOrEqual(6);
    await clock.advance(60_000);
    expect(await total.saved()).toBe(300); // nothing came since the write
    await total.close();
  });

  it('is not reported by a disk that does not take it, or hangs', async () => {
    const [files, clock] = [new MemoryFiles(), new FakeClock()];
    const total = await open('/counters', clock, files);
    const heal = files.addFaults({ fail: (op) => (op === 'write' ? { code: 'ENOSPC' } : undefined) });
    total.add(5);
    expect([await total.saved(), total.count]).toEqual([undefined, 5]);
    heal();
    const hangs = Promise.withResolvers<void>();
    const end = files.addFaults({ delay: (op) => (op === 'sync' ? hangs.promise : undefined) });
    await clock.advance(60_000);
    total.add(1);
    const read = total.saved();
    await clock.advance(1_000);
    expect(await read).toBe(undefined);
    end();
    hangs.resolve();
    await until('the write', async () => (await total.saved()) === 6);
    await total.close();
  });

  it('counts while the disk gives nothing, and is told when it is known what the pulses are added to', async () => {
    const [files, clock] = [new MemoryFiles(), new FakeClock()];
    await files.makeFolder('/counters');
    const first = await open('/counters', clock, files);
    first.add(10);
    await first.close();
    const heal = files.addFaults({ fail: (op) => (op === 'read' || op === 'open' ? { code: 'EIO' } : undefined) });
    const total = await open('/counters', clock, files);
    total.add(5);
    await clock.advance(120_000);
    expect([total.count, total.added]).toEqual([undefined, 5]);
    heal();
    await clock.advance(10_000);
    expect(total.count).toBe(15);
    await total.close();
    expect([(await open('/counters', clock, files)).count, clock.pending]).toEqual([15, 0]);
  });

  it('asks the disk once more as it is closed, and leaves nothing behind where that gives nothing', async () => {
    for (const kept of [15, 10]) {
      const [files, clock] = [new MemoryFiles(), new FakeClock()];
      await files.makeFolder('/counters');
      const first = await open('/counters', clock, files);
      first.add(10);
      await first.close();
      const heal = files.addFaults({ fail: (op) => (op === 'read' || op === 'open' ? { code: 'EIO' } : undefined) });
      const total = await open('/counters', clock, files);
      total.add(5);
      if (kept === 15) heal();
      await total.close();
      heal();
      expect([clock.pending, (await open('/counters', clock, files)).count]).toEqual([0, kept]);
    }
  });

  it('begins at 0 on a disk that takes nothing and holds nothing, and writes when it takes it', async () => {
    const [files, clock] = [new MemoryFiles(), new FakeClock()];
    const heal = files.addFaults({ fail: (op) => (op === 'read' || op === 'open' ? undefined : { code: 'EROFS' }) });
    const total = await open('/counters', clock, files);
    total.add(5);
    await clock.advance(60_001);
    expect(total.count).toBe(5);
    heal();
    total.add(1);
    await clock.advance(60_001);
    expect((await open('/counters', clock, files)).count).toBe(6);
  });

  it('sets a file aside that it cannot read, and counts from 0', async () => {
    const [folder, clock] = [await folderOf(), new FakeClock()];
    for (const wrong of [
      '{"format":"turnstone-counter","version":2,"total":5}',
      '{"format":"turnstone-counter","version":1,"total":"5"}',
      'rubbish',
      sealJson({ format: 'turnstone-counter', version: 1, total: 5 }).replace('"total":5', '"total":7'),
    ]) {
      await writeFile(join(folder, 'water.json'), wrong);
      expect((await open(folder, clock)).count).toBe(0);
      expect(await readFile(join(folder, 'water.json.corrupt'), 'utf8')).toBe(wrong);
    }
  });
});
