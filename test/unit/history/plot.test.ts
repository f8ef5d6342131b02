import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeyBand } from '../../../src/history/bands.ts';
import { answerSeries, mergeBands } from '../../../src/history/plot.ts';
import type { TimedValue } from '../../../src/history/plot-series.ts';

const HOUR_MS = 3_600_000;
const PART_MS = 300_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 5, 20, 12, 30);
const HALF = PART_MS / 2;

function band(ts: number, least: number, greatest = least): KeyBand {
  const hourMs = Math.floor(ts / HOUR_MS) * HOUR_MS;
  return { key: 'a', hourMs, at: Math.floor((ts - hourMs) / PART_MS), least, greatest, last: least, lastMs: 0 };
}

/** What is asked of either source is kept. */
function sources(entries: readonly TimedValue[], bands: readonly KeyBand[]) {
  const asked: string[] = [];
  return {
    asked,
    nowMs: NOW,
    retainMs: DAY_MS,
    devices: ['self'],
    async *entries() {
      asked.push('outbox');
      yield* entries;
    },
    async *bands() {
      asked.push('bands');
      yield* bands;
    },
  };
}

describe('answerSeries', () => {
  const query = (fromMs: number, toMs: number, points = 300) => ({ keys: ['a'], fromMs, toMs, points });

  it('reads the last hours from the outbox alone, where that has them', async () => {
    const both = sources([{ key: 'a', ts: NOW - 6 * HOUR_MS + 5, value: 1 }], [band(NOW - PART_MS, 9)]);
    expect(await answerSeries(query(NOW - 6 * HOUR_MS, NOW), both)).toEqual({ a: [[NOW - 6 * HOUR_MS + 5], [1]] });
    expect(both.asked).toEqual(['outbox']);
  });

  it('reads a week from the record alone, with the middles of its parts', async () => {
    const fromMs = NOW - 7 * DAY_MS;
    const both = sources([], [band(fromMs + PART_MS, 1, 3), band(NOW - PART_MS, 2)]);
    const { a } = await answerSeries(query(fromMs, NOW, 20_000), both);
    expect(a).toEqual([
      [fromMs + PART_MS + HALF, NOW - HALF],
      [1, 2],
      [3, 2],
    ]);
    expect(both.asked).toEqual(['bands']);
  });

  it('gives an hour of last week in parts of five minutes', async () => {
    const fromMs = NOW - 6 * DAY_MS;
    const bands = Array.from({ length: 36 }, (_, at) => band(fromMs - HOUR_MS + at * PART_MS, at));
    const { a } = await answerSeries(query(fromMs, fromMs + HOUR_MS), sources([], bands));
    expect(a?.[1]).toEqual([12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]);
  });

  it('reads some hours of today in both, and gives what the outbox has, unless it has lost their beginning', async () => {
    const [fromMs, toMs] = [NOW - 10 * HOUR_MS, NOW - 8 * HOUR_MS];
    const whole = sources([{ key: 'a', ts: fromMs + 9, value: 1 }], [band(fromMs, 1)]);
    expect(await answerSeries(query(fromMs, toMs), whole)).toEqual({ a: [[fromMs + 9], [1]] });
    const lost = sources([{ key: 'a', ts: fromMs + HOUR_MS, value: 1 }], [band(fromMs, 1)]);
    expect(await answerSeries(query(fromMs, toMs), lost)).toEqual({ a: [[fromMs + HALF], [1], [1]] });
    expect(await answerSeries(query(fromMs, toMs), sources([], []))).toEqual({ a: [[], []] });
  });

  it('reads the outbox alone where no record is kept', async () => {
    const { bands: _none, ...only } = sources([{ key: 'a', ts: NOW - DAY_MS, value: 1 }], []);
    expect(await answerSeries(query(NOW - 2 * DAY_MS, NOW), only)).toEqual({ a: [[NOW - DAY_MS], [1]] });
  });
});

it('merges parts to about the points that were asked for, and loses no least and no greatest value', async () => {
  const parts = fc.array(fc.tuple(fc.nat(7 * 288 - 1), fc.integer(), fc.nat(100)), { minLength: 1, maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 2, max: 500 }), async (drawn, points) => {
      const fromMs = NOW - 7 * DAY_MS;
      async function* bands() {
        for (const [at, least, more] of drawn) yield band(fromMs + at * PART_MS, least, least + more);
      }
      const { a } = await mergeBands(bands(), { keys: ['a', 'b'], fromMs, toMs: NOW, points });
      const [times = [], least = [], greatest = []] = a ?? [];
      expect(times.length).toBeLessThanOrEqual(points + 1);
      expect(times).toEqual([...new Set(times)].sort((x, y) => x - y));
      expect(Math.min(...least)).toBe(Math.min(...drawn.map(([, value]) => value)));
      expect(Math.max(...greatest)).toBe(Math.max(...drawn.map(([, value, more]) => value + more)));
    }),
  );
});
