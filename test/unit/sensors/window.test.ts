/** Statistics of a window: numbers by what they are, text by its count and its last value. */
import { expect, it } from 'vitest';
import { SensorWindow } from '../../../src/sensors/sensor-window.ts';
import { Window } from '../../../src/sensors/window.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('takes the mean of the numbers, and counts all that was read, where a line gives words in between', () => {
  const window = new Window({ lengthMs: 60_000, statistics: ['mean', 'min', 'max', 'sum', 'count', 'last'] });
  for (const [at, value] of [20, 'ERR', 22, true, 'ERR'].entries()) window.add([{ key: 'level', value, unit: 'm' }], at * 1_000);
  window.add([{ key: 'word', value: 'ERR' }], 6_000);
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

it('gives what it holds before its end where names never end, loses none of it and holds a thousand at most', async () => {
  const clock = new FakeClock();
  const window = SensorWindow.of({ align: false, window: { lengthMs: 3_600_000, statistics: ['count'] } }, clock) ?? expect.fail();
  const given: string[] = [];
  for (let at = 0; at < 2_500; at += 1) given.push(...window.add([{ key: `key${at}`, value: at }]).map(({ key }) => key));
  expect(given).toHaveLength(2_000);
  given.push(...window.cut().map(({ key }) => key));
  expect(new Set(given)).toEqual(new Set(Array.from({ length: 2_500 }, (_none, at) => `key${at}_count`)));
});
