/** Plots against what was measured: last values, switches, and spans that the outbox no longer holds. */
import { describe, expect, it } from 'vitest';
import { answerSeries, mergeBands } from '../../src/history/plot.ts';
import { type Series, thinSeries } from '../../src/history/plot-series.ts';

interface Columns {
  readonly times: number[];
  readonly least: number[];
}
interface Period {
  readonly fromMs: number;
  readonly toMs: number;
  readonly value?: number;
}

/** Scripts of the pages have no types of their own. */
const shared = async (name: string): Promise<unknown> =>
  await import(new URL(`../../src/pages/shared/${name}.js`, import.meta.url).href);
const { columnsOf, gapLimit, periodsBeyond, periodsOfSwitch } = (await shared('plot-data')) as {
  columnsOf(answer: unknown): Columns;
  gapLimit(times: readonly number[], maxGapMs?: number): number;
  periodsBeyond(columns: Columns, threshold: object, limitMs: number): Period[];
  periodsOfSwitch(columns: Columns, limitMs: number): Period[];
};
const { summaryOf } = (await shared('plot-words')) as { summaryOf(lines: readonly object[]): string };
const totalMs = (periods: readonly Period[]): number =>
  periods.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 24, 12);

async function* entries(key: string, values: readonly (readonly [number, number | boolean])[]) {
  for (const [ts, value] of values) yield { key, ts, value };
}

const query = (key: string, hours: number, points = 1_000) => ({
  keys: [key],
  fromMs: NOW - hours * HOUR,
  toMs: NOW + 1,
  points,
});
const columns = (series: Series, key: string) => columnsOf(series[key]);

describe('a plot of what the outbox holds', () => {
  it('shows a door that was open for 2 s as open for no longer', async () => {
    // Reported at each change, and every 5 minutes.
    const opened = NOW - 3 * HOUR + 7_000;
    const told: (readonly [number, boolean])[] = [];
    for (let at = NOW - 6 * HOUR; at < NOW; at += 5 * MINUTE) told.push([at, false]);
    told.push([opened - 5_000, false], [opened, true], [opened + 2_000, false]);
    told.sort(([a], [b]) => a - b);
    const found = columns(await thinSeries(entries('door', told), query('door', 6)), 'door');
    const on = periodsOfSwitch(found, gapLimit(found.times, 20 * MINUTE)).filter(({ value }) => value === 1);
    const openMs = totalMs(on);
    const partMs = (6 * HOUR) / 500;
    expect(openMs).toBeLessThan(partMs);
  });

  it('tells the value that was last', async () => {
    const told = [10, 20, 15].map((value, at) => [NOW - 3_000 + at * 1_000, value] as const);
    const found = columns(await thinSeries(entries('t', told), query('t', 1)), 't');
    expect(found.least.at(-1)).toBe(15);
  });

  it('tells how long a peak was beyond its limit', async () => {
    const peak = NOW - 3 * HOUR + 7_000;
    // Reported at a change, and every 15 minutes.
    const told: (readonly [number, number])[] = [];
    for (let at = NOW - 6 * HOUR; at < NOW; at += 15 * MINUTE) told.push([at, 20]);
    told.push([peak - 5_000, 19], [peak, 90], [peak + 2_000, 21]);
    told.sort(([a], [b]) => a - b);
    const found = columns(await thinSeries(entries('t', told), query('t', 6)), 't');
    const beyond = periodsBeyond(found, { above: 50, below: undefined, hysteresis: 0 }, 45 * MINUTE);
    expect(totalMs(beyond)).toBeLessThan((6 * HOUR) / 500);
  });
});

describe('a plot of the coarser record', () => {
  it('does not say that a pump that ran for 30 s in each of 288 parts was never on', async () => {
    async function* parts() {
      for (let hour = 0; hour < 24; hour += 1)
        for (let at = 0; at < 12; at += 1)
          yield {
            key: 'pump',
            hourMs: NOW - 24 * HOUR + hour * HOUR,
            at,
            least: 0,
            greatest: 1,
            last: 0,
            lastMs: 200_000,
          };
    }
    const found = columns(await mergeBands(parts() as never, query('pump', 24)), 'pump');
    const line = { key: 'pump', unit: '', isSwitch: true, thresholds: [], columns: found, limitMs: 20 * MINUTE };
    expect(summaryOf([line])).not.toMatch(/On 0 times, for 0 s/);
  });
});

describe('a plot of six hours', () => {
  it('goes on in the coarser record where the outbox, which was full of 120 values a second, holds one hour alone', async () => {
    const told = Array.from({ length: 60 }, (_, at) => [NOW - HOUR + at * MINUTE, 20] as const);
    async function* parts() {
      for (let hour = 0; hour < 24; hour += 1)
        for (let at = 0; at < 12; at += 1)
          yield {
            key: 't',
            hourMs: NOW - 24 * HOUR + hour * HOUR,
            at,
            least: 19,
            greatest: 21,
            last: 20,
            lastMs: 200_000,
          };
    }
    const asked = query('t', 6);
    const answer = await answerSeries(asked, {
      nowMs: NOW,
      retainMs: HOUR,
      devices: ['self'],
      entries: () => entries('t', told),
      bands: () => parts() as never,
    });
    expect(answer.t?.[0]?.[0]).toBeLessThan(asked.fromMs + 10 * MINUTE);
  });
});
