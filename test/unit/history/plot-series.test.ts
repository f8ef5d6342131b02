import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSeriesQuery, type TimedValue, thinSeries } from '../../../src/history/plot-series.ts';

const NOW = 1_780_000_000_000;

async function* of(entries: readonly TimedValue[]): AsyncGenerator<TimedValue> {
  yield* entries;
}

describe('thinSeries', () => {
  it('keeps every least and greatest value of each part, in the order of time', async () => {
    const entries = Array.from({ length: 1_000 }, (_, index) => ({
      key: 'a',
      ts: NOW + index,
      value: index === 500 ? 99 : index % 3,
    }));
    const { a } = await thinSeries(of(entries), { keys: ['a'], fromMs: NOW, toMs: NOW + 1_000, points: 20 });
    const [times = [], values = []] = a ?? [];
    expect(values.length).toBeLessThanOrEqual(20);
    expect(Math.max(...values)).toBe(99);
    expect(times).toEqual(times.toSorted((x, y) => x - y));
    expect(times[values.indexOf(99)]).toBe(NOW + 500);
  });

  it('never gives more points than asked for, nor a value that was not there', async () => {
    const entry = fc.record({
      key: fc.constant('k'),
      ts: fc.integer({ min: NOW - 100, max: NOW + 1_100 }),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 200 }),
        fc.integer({ min: 3, max: 50 }),
        async (entries, points) => {
          const { k } = await thinSeries(of(entries), { keys: ['k'], fromMs: NOW, toMs: NOW + 1_000, points });
          const [times = [], values = []] = k ?? [];
          expect(times.length).toBeLessThanOrEqual(points);
          expect(new Set(times).size).toBe(times.length);
          for (const [index, ts] of times.entries())
            expect(entries.some((one) => one.ts === ts && one.value === values[index])).toBe(true);
        },
      ),
    );
  });

  it('plots switches as 0 and 1 and longs as numbers, and leaves words out', async () => {
    const values = [true, false, 5n, 'text', { a: 1 }, null];
    const entries = values.map((value, index) => ({ key: 'a', ts: NOW + index * 10, value }));
    const { a } = await thinSeries(of(entries), { keys: ['a'], fromMs: NOW, toMs: NOW + 100, points: 100 });
    expect(a).toEqual([
      [NOW, NOW + 10, NOW + 20],
      [1, 0, 5],
    ]);
  });

  it('answers every key that was asked for', async () => {
    expect(await thinSeries(of([]), { keys: ['a', 'b'], fromMs: NOW, toMs: NOW + 100, points: 10 })).toEqual({
      a: [[], []],
      b: [[], []],
    });
  });
});

describe('readSeriesQuery', () => {
  it('takes the last hour when nothing else is said, and bounds all points together', () => {
    const query = new URLSearchParams('key=a&key=b&key=a&points=999999');
    expect(readSeriesQuery(query, NOW)).toEqual({
      keys: ['a', 'b'],
      fromMs: NOW + 1 - 3_600_000,
      toMs: NOW + 1,
      points: 10_000,
    });
  });

  it.each([
    '',
    'key=a&from=x',
    'key=a&from=5&to=4',
    'key=a&from=0',
    'key=a&points=1',
    Array.from({ length: 65 }, (_, i) => `key=${i}`).join('&'),
  ])('says what is wrong with %s', (query) => {
    expect(readSeriesQuery(new URLSearchParams(query), NOW)).toBeTypeOf('string');
  });
});

it('takes a slot of a reasonable length as the device whose keys are meant', () => {
  const query = (device: string) => readSeriesQuery(new URLSearchParams({ key: 'a', device }), NOW);
  expect(query('meter1')).toMatchObject({ device: 'meter1', keys: ['a'] });
  expect(query('m'.repeat(65))).toBe('no device is called so');
  expect(readSeriesQuery(new URLSearchParams({ key: 'a' }), NOW)).not.toMatchObject({ device: expect.anything() });
});
