/**
 * Cost of the coarser record for plots of a week, for 5 and for 120 keys of one reading every ten seconds:
 *
 *   npm run bench:bands [-- --json] [-- --days 8]
 *
 * On the machine's own disk (TMPDIR chooses it), with a clock that moves only when told. The outbox beside it is one as shipped, committed once a
 * minute and delivered at once; what it wrote is what it counts itself. A plot of an hour is of the newest one, from the outbox. Times are those
 * of the processor.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packHours } from '../../src/history/band-lines.ts';
import { Bands } from '../../src/history/bands.ts';
import { OpenHours } from '../../src/history/open-hours.ts';
import { answerSeries } from '../../src/history/plot.ts';
import type { SeriesQuery } from '../../src/history/plot-series.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { Outbox, type TelemetryEntry } from '../../src/outbox/outbox.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeTimeSync, LANES, NO_LIMITS } from '../support/outbox-fixture.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../support/outbox-settings.ts';

const { values: flags } = parseArgs({
  options: { json: { type: 'boolean', default: false }, days: { type: 'string', default: '8' } },
});
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PERIOD_MS = 10_000;
/** A round is one commit. */
const ROUND_MS = 60_000;
const ANSWERS = 9;
/** So many hours are made to weigh one. */
const COPIES = 200;

interface Cost {
  readonly keys: number;
  readonly bytesADay: number;
  readonly shareOfOutbox: number;
  readonly weekMs: number;
  readonly hourMs: number;
  readonly weekOfHour: number;
  /** An hour of all keys in memory. */
  readonly memoryKb: number;
  /** An hour made into what is written. */
  readonly packMs: number;
}

const costs: Cost[] = [];
for (const keys of [5, 120]) costs.push(await measure(keys));
if (!flags.json) console.table(costs);
console.log(JSON.stringify(costs));

async function measure(keys: number): Promise<Cost> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-bench-bands-'));
  const clock = new FakeClock({ wallMs: Date.UTC(2026, 5, 1) });
  const timeSync = new FakeTimeSync();
  const signal = new AbortController().signal;
  const settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0 };
  const shared = { clock, files: systemFiles, log: silentLog, timeSync };
  const outbox = await Outbox.open({ ...shared, folder: join(folder, 'outbox'), settings }, signal);
  const bands = new Bands({ ...shared, stateFolder: folder, outboxes: () => [outbox], expectFolder: async () => {} });
  try {
    const days = Number(flags.days);
    for (let at = 0; at < (days * DAY_MS) / ROUND_MS; at += 1) {
      const entries = roundOf(keys, clock);
      const appended = outbox.append(entries);
      void outbox.flush();
      await appended;
      bands.take(entries);
      for (const lane of LANES)
        for (
          let batch = await outbox.peek(lane, NO_LIMITS);
          batch !== undefined;
          batch = await outbox.peek(lane, NO_LIMITS)
        )
          await outbox.acknowledge(batch);
      await clock.advance(ROUND_MS);
    }
    const bytes = await bytesIn(join(folder, 'bands'));
    const written = outbox.status().diskBytes;
    const nowMs = clock.wallMs();
    const names = Array.from({ length: Math.min(keys, 5) }, (_, at) => `key${at}`);
    const answer = (query: SeriesQuery) =>
      answerSeries(query, {
        nowMs,
        retainMs: settings.retain.forMs,
        devices: ['self'],
        entries: (asked) => outbox.read(asked, signal),
        bands: (asked) => bands.read(asked, signal),
      });
    const span = (ms: number): SeriesQuery => ({ keys: names, fromMs: nowMs - ms, toMs: nowMs, points: 1_000 });
    const hour = anHour(keys).list(0);
    const weekMs = await medianMs(() => answer(span(7 * DAY_MS)));
    const hourMs = await medianMs(() => answer(span(HOUR_MS)));
    return {
      keys,
      bytesADay: Math.round(bytes / days),
      shareOfOutbox: round(bytes / written),
      weekMs: round(weekMs),
      hourMs: round(hourMs),
      weekOfHour: round(weekMs / hourMs),
      memoryKb: memoryKb(keys),
      packMs: round(await medianMs(() => packHours([{ hourMs: 0, keys: hour }]))),
    };
  } finally {
    bands.close();
    const closed = outbox.close();
    await clock.advance(10_000);
    await closed;
    await rm(folder, { recursive: true, force: true });
  }
}

/** A minute of readings, each a walk around a value of its own with two decimals. */
function roundOf(keys: number, clock: FakeClock): TelemetryEntry[] {
  const entries: TelemetryEntry[] = [];
  for (let agoMs = ROUND_MS - PERIOD_MS; agoMs >= 0; agoMs -= PERIOD_MS) {
    const monotonicMs = clock.monotonicMs() - agoMs;
    for (let key = 0; key < keys; key += 1)
      entries.push({
        device: 'self',
        key: `key${key}`,
        value: valueAt(key, monotonicMs),
        bootId: clock.bootId,
        monotonicMs,
        class: 'regular',
      });
  }
  return entries;
}

function valueAt(key: number, ms: number): number {
  const noise = Math.sin(ms * (key + 1) * 12.9898) * 43_758.5453;
  return (
    Math.round((20 + key + 5 * Math.sin((2 * Math.PI * ms) / DAY_MS) + (noise - Math.floor(noise)) / 2) * 100) / 100
  );
}

function anHour(keys: number): OpenHours {
  const hours = new OpenHours(keys);
  for (let ms = 0; ms < HOUR_MS; ms += PERIOD_MS)
    for (let key = 0; key < keys; key += 1) hours.add('self', `key${key}`, ms, valueAt(key, ms));
  return hours;
}

function memoryKb(keys: number): number {
  const before = usedBytes();
  const hours = Array.from({ length: COPIES }, () => anHour(keys));
  const grown = usedBytes() - before;
  return round(grown / 1_000 / hours.length);
}

function usedBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function bytesIn(folder: string): Promise<number> {
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < ANSWERS; at += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  return times.sort((a, b) => a - b)[Math.floor(ANSWERS / 2)] as number;
}

function round(number: number): number {
  return Math.round(number * 1_000) / 1_000;
}
