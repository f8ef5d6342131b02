import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aggregate, TelemetryStore } from '../../../../src/stand-ins/local-platform/telemetry-store.ts';

const all = { startTs: 0, endTs: 10_000, limit: 1000, orderBy: 'ASC' } as const;

describe('the telemetry store', () => {
  it('answers like a sorted map, whatever the order of arrival', () => {
    const point = fc.record({ ts: fc.nat(50), value: fc.nat() });
    const range = fc.record({
      startTs: fc.nat(50),
      endTs: fc.nat(60),
      limit: fc.integer({ min: 1, max: 20 }),
      orderBy: fc.constantFrom('ASC' as const, 'DESC' as const),
    });
    fc.assert(
      fc.property(fc.array(point), fc.array(range, { maxLength: 3 }), (points, ranges) => {
        const store = new TelemetryStore({ maxPointsPerKey: 1000 });
        const model = new Map<number, number>();
        for (const { ts, value } of points) {
          store.save('d', ts, { k: value });
          model.set(ts, value);
        }
        const sorted = [...model].map(([ts, value]) => ({ ts, value })).sort((a, b) => a.ts - b.ts);
        expect(store.series('d', 'k').latest()).toEqual(sorted.at(-1));
        for (const { startTs, endTs, limit, orderBy } of ranges) {
          const inside = sorted.filter(({ ts }) => ts >= startTs && ts < endTs);
          const expected = orderBy === 'ASC' ? inside.slice(0, limit) : inside.reverse().slice(0, limit);
          expect(store.series('d', 'k').read({ startTs, endTs, limit, orderBy })).toEqual(expected);
        }
      }),
    );
  });

  it('loses its oldest points when a key is full', () => {
    const store = new TelemetryStore({ maxPointsPerKey: 100 });
    for (let ts = 0; ts < 250; ts += 1) store.save('d', ts, { k: ts });
    expect(store.series('d', 'k').size).toBeLessThanOrEqual(100);
    expect(store.series('d', 'k').size).toBeGreaterThan(85);
    expect(store.series('d', 'k').latest()).toEqual({ ts: 249, value: 249 });
    expect(store.series('d', 'k').read(all)[0]?.ts).toBe(250 - store.series('d', 'k').size);
  });

  it('gives up what is taken out behind its back', () => {
    const store = new TelemetryStore({ maxPointsPerKey: 100 });
    for (const ts of [1, 2, 3]) store.save('d', ts, { k: ts });
    expect(store.series('d', 'k').remove(2, 4)).toBe(2);
    expect(store.series('d', 'k').latest()).toEqual({ ts: 1, value: 1 });
    expect(store.series('d', 'unknown').remove(0, 9)).toBe(0);
  });

  it('keeps devices apart and forgets a deleted one', () => {
    const store = new TelemetryStore({ maxPointsPerKey: 100 });
    store.save('a', 1, { k: 1 });
    store.save('b', 1, { k: 2 });
    store.forget('a');
    expect([store.series('a', 'k').latest(), store.series('b', 'k').latest()]).toEqual([
      undefined,
      { ts: 1, value: 2 },
    ]);
  });
});

describe('aggregation', () => {
  const points = [
    { ts: 0, value: 4 },
    { ts: 9, value: 1.5 },
    { ts: 10, value: 'text' },
    { ts: 25, value: 9_007_199_254_740_993n },
    { ts: 26, value: 2 },
  ];
  const range = { startTs: 0, endTs: 28, intervalMs: 10 };

  it.each<['MIN' | 'MAX' | 'AVG' | 'SUM' | 'COUNT', unknown]>([
    [
      'MIN',
      [
        [5, 1.5],
        [24, 2],
      ],
    ],
    [
      'MAX',
      [
        [5, 4],
        [24, 9_007_199_254_740_993n],
      ],
    ],
    [
      'SUM',
      [
        [5, 5.5],
        [24, 9_007_199_254_740_995n],
      ],
    ],
    [
      'AVG',
      [
        [5, 2.75],
        [24, Number(9_007_199_254_740_995n) / 2],
      ],
    ],
    [
      'COUNT',
      [
        [5, 2],
        [15, 1],
        [24, 2],
      ],
    ],
  ])('%s makes one point per interval, at its middle', (aggregation, expected) => {
    expect(aggregate(points, aggregation, range).map(({ ts, value }) => [ts, value])).toEqual(expected);
  });
});
