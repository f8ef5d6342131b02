/** Alarms as they are told, beside what is reported of them. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { alarmChange, type ToldAlarm } from './alarm-change.ts';
import { DeadbandRules } from './deadband-rules.ts';

it('are told with value and limit when they are new, and when they are over', () => {
  const clock = new FakeClock({ monotonicMs: 0 });
  const told: ToldAlarm[] = [];
  const alarms = [
    { above: 40, name: 'warm' },
    { above: 50, name: 'hot' },
  ];
  const rules = new DeadbandRules({
    clock,
    rulesFor: () => ({ rename: 'roofTemperature', alarms }),
    report: () => {},
    onAlarm: (one) => told.push(one),
  });
  for (const value of [20, 55, 56, 45, 30])
    rules.take([{ sensor: 'roof', key: 'temperature', value, bootId: clock.bootId, monotonicMs: 5 }]);
  const short = told.map(({ value, raised, over }) => [
    value,
    raised.map(({ name }) => name),
    over.map(({ name }) => name),
  ]);
  expect(short).toEqual([
    [55, ['warm', 'hot'], []],
    [45, [], ['hot']],
    [30, [], ['warm']],
  ]);
  expect(told[0]).toMatchObject({
    sensor: 'roof',
    key: 'roofTemperature',
    device: 'self',
    raised: [{ above: 40 }, { above: 50 }],
  });
});

it('of before a restart are told when they are over, and not once more', () => {
  const warm = { name: 'warm', limit: 'warm', above: 40, sinceMs: 0 };
  expect(alarmChange([], [warm], ['warm'])).toBeUndefined();
  expect(alarmChange([], [], ['warm'])?.over).toMatchObject([{ name: 'warm' }]);
  expect(alarmChange([], [], [])).toBeUndefined();
  expect(alarmChange([], [warm], [])).toEqual({ raised: [warm], over: [] });
  const hot = { name: 'hot', limit: 'hot', above: 50, sinceMs: 0 };
  expect(alarmChange([], [warm, hot], ['warm'])).toEqual({ raised: [hot], over: [] });
});
