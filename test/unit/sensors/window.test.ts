/** Statistics of a window: numbers by what they are, text by its count and its last value. */
import { expect, it } from 'vitest';
import { SensorWindow, Window, type WindowInstant } from '../../../src/sensors/window.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const instant = (atMs: number): WindowInstant => ({ atMs, monotonicMs: atMs });

it('takes the mean of the numbers, and counts all that was read, where a line gives words in between', () => {
  const window = new Window({
    lengthMs: 60_000,
    periodMs: 1_000,
    statistics: ['mean', 'min', 'max', 'sum', 'count', 'last'],
  });
  for (const [at, value] of [20, 'ERR', 22, true, 'ERR'].entries())
    window.addReadings([{ key: 'level', value, unit: 'm' }], instant(at * 1_000));
  window.addReadings([{ key: 'word', value: 'ERR' }], instant(6_000));
  expect(window.cut().readings.map(({ key, value }) => [key, value])).toEqual([
    ['level_mean', 43 / 3],
    ['level_min', 1],
    ['level_max', 22],
    ['level_sum', 43],
    ['level_count', 5],
    ['level_last', 'ERR'],
    ['word_count', 1],
    ['word_last', 'ERR'],
  ]);
});

it('keeps the least and the greatest of whole numbers past 2^53 as they are', () => {
  const window = new Window({ lengthMs: 60_000, periodMs: 1_000, statistics: ['min', 'max', 'mean'] });
  const top = 2n ** 60n;
  for (const [at, value] of [top, top + 1n, top - 1n].entries())
    window.addReadings([{ key: 'total', value }], instant(at * 1_000));
  expect(window.cut().readings.map(({ value }) => value)).toEqual([top - 1n, top + 1n, 2 ** 60]);
});

it('gives what it holds before its end where names never end, loses none of it and holds a thousand at most', async () => {
  const clock = new FakeClock();
  const window =
    SensorWindow.of({ align: false, periodMs: 1_000, window: { lengthMs: 3_600_000, statistics: ['count'] } }, clock) ??
    expect.fail();
  const given: string[] = [];
  for (let at = 0; at < 2_500; at += 1)
    given.push(...window.addReadings([{ key: `key${at}`, value: at }]).map(({ key }) => key));
  expect(given).toHaveLength(2_000);
  given.push(...window.cut().map(({ key }) => key));
  expect(new Set(given)).toEqual(new Set(Array.from({ length: 2_500 }, (_none, at) => `key${at}_count`)));
});

it('goes on where its clock goes back to its very beginning, and ends where it goes back further', () => {
  const window = new Window({ lengthMs: 60_000, periodMs: 1_000, statistics: ['count'] });
  window.addReadings([{ key: 'flow', value: 5 }], instant(61_000));
  expect(window.finish({ atMs: 60_000, monotonicMs: 62_000 })).toBeUndefined();
  expect(window.finish({ atMs: 59_999, monotonicMs: 62_000 })?.readings).toMatchObject([
    { key: 'flow_count', value: 1, isPart: true },
  ]);
});

it.each<readonly [number, number, boolean]>([
  [1_000, 599, true],
  [1_000, 600, false],
  [1_000, -599, true],
  [1_000, -600, false],
  [100, 99, true],
  [100, 100, false],
])('with a reading every %d ms and an end that comes by %d ms too late, is whole: %j', (periodMs, lateMs, isWhole) => {
  const window = new Window({ lengthMs: 60_000, periodMs, statistics: ['sum'] });
  window.addReadings([{ key: 'flow', value: 5 }], instant(50_000));
  window.finish(instant(60_000));
  window.addReadings([{ key: 'flow', value: 5 }], instant(60_000));
  const [sum] = window.finish({ atMs: 120_000, monotonicMs: 120_000 + lateMs })?.readings ?? [];
  expect(sum?.isPart !== true).toBe(isWhole);
});

it('says of a sum or a count that it is of a part of a window: of the first, of one that was cut, and after a silence', () => {
  const window = new Window({ lengthMs: 60_000, periodMs: 1_000, statistics: ['sum', 'mean'] });
  const parts: (readonly [string, boolean])[] = [];
  const note = (readings: readonly { readonly key: string; readonly isPart?: boolean }[] = []): void =>
    void parts.push(...readings.map(({ key, isPart }) => [key, isPart === true] as const));
  for (const atMs of [50_000, 60_000, 110_000, 121_000, 290_000, 300_000, 360_000]) {
    note(window.finish(instant(atMs))?.readings);
    window.addReadings([{ key: 'flow', value: 5 }], instant(atMs));
  }
  note(window.cut().readings);
  const sums = parts.filter(([key]) => key === 'flow_sum').map(([, isPart]) => isPart);
  // From 50 s; from 60 s; from 120 s; after a silence from 290 s; from 300 s; cut.
  expect(sums).toEqual([true, false, false, true, false, true]);
  expect(parts.every(([key, isPart]) => key === 'flow_sum' || !isPart)).toBe(true);
});

it('counts a reading in the window of its own time where its source has stamped it', async () => {
  const clock = new FakeClock();
  const window = SensorWindow.of(
    { align: false, periodMs: 2_500, window: { lengthMs: 10_000, statistics: ['count', 'last'] } },
    clock,
  );
  if (window === undefined) throw new Error('no window');
  const beginMs = Math.ceil(clock.monotonicMs() / 10_000) * 10_000;
  await clock.advance(beginMs - clock.monotonicMs() + 500);
  const at = (value: number, afterMs: number) => ({ key: 'v', value, monotonicMs: beginMs + afterMs });
  expect(window.addReadings([at(1, 100), at(2, 200)])).toEqual([]);
  await clock.advance(10_500);
  // Two of the window that has ended, one of the next, one that comes late, and one of a future that nobody knows.
  const given = window.addReadings([at(3, 5_000), at(4, 9_999), at(5, 10_500), at(6, 300), at(7, 99_000)]);
  expect(given.map(({ key, value, monotonicMs }) => [key, value, (monotonicMs ?? 0) - beginMs])).toEqual([
    ['v_count', 4, 10_000],
    ['v_last', 4, 10_000],
  ]);
  expect(window.cut().map(({ value }) => value)).toEqual([3, 7]);
});

it('ends a window in time though the newest stamp is older than its end', async () => {
  const clock = new FakeClock();
  const window = SensorWindow.of(
    { align: false, periodMs: 1_000, window: { lengthMs: 10_000, statistics: ['last'] } },
    clock,
  );
  if (window === undefined) throw new Error('no window');
  const beginMs = Math.ceil(clock.monotonicMs() / 10_000) * 10_000;
  await clock.advance(beginMs - clock.monotonicMs());
  expect(window.addReadings([{ key: 'v', value: 1 }])).toEqual([]);
  await clock.advance(11_000);
  expect(window.addReadings([{ key: 'v', value: 2, monotonicMs: beginMs + 9_000 }])).toMatchObject([
    { key: 'v_last', value: 2 },
  ]);
});
