/** When an alarm begins, stays and ends, value by value. */
import { expect, it } from 'vitest';
import { AlarmThresholds, type Threshold } from '../../../src/telemetry/alarm-thresholds.ts';

/** What each value in turn makes new. */
function said(thresholds: readonly Threshold[], ...values: readonly (number | bigint)[]): (string | undefined)[] {
  const alarms = new AlarmThresholds();
  return values.map((value) => alarms.evaluate(value, thresholds));
}

it('begins past its limit and not at it, and ends at it', () => {
  expect(said([{ above: 40 }], 39.5, 40, 40.1, 41, 40, 39.9)).toEqual([
    'ok',
    undefined,
    'above 40',
    undefined,
    'ok',
    undefined,
  ]);
  expect(said([{ below: 5 }], 5.5, 5, 4.9, 4, 5, 6)).toEqual(['ok', undefined, 'below 5', undefined, 'ok', undefined]);
  expect(said([{ above: 40 }], 41)).toEqual(['above 40']);
});

it('that is on ends when the value is back by its hysteresis; one that is off begins no sooner', () => {
  const above = { above: 40, hysteresis: 2, name: 'hot' };
  expect(said([above], 38.5, 39.9, 40.1, 39, 38.1, 38, 39.9)).toEqual([
    'ok',
    undefined,
    'hot',
    undefined,
    undefined,
    'ok',
    undefined,
  ]);
  const below = { below: 5, hysteresis: 2, name: 'cold' };
  expect(said([below], 6.5, 5.1, 4.9, 6, 6.9, 7, 5.1)).toEqual([
    'ok',
    undefined,
    'cold',
    undefined,
    undefined,
    'ok',
    undefined,
  ]);
});

it('stands beside others, and each change of the set is said', () => {
  const thresholds = [{ above: 40 }, { above: 50, name: 'fire' }, { below: 5 }];
  expect(said(thresholds, 20, 45, 55, 45, 60, 3)).toEqual([
    'ok',
    'above 40',
    'above 40, fire',
    'above 40',
    'above 40, fire',
    'below 5',
  ]);
});

it('holds a long against its limit', () => {
  expect(said([{ above: 2 ** 60, name: 'full' }], 2n ** 60n, 2n ** 60n + 1n)).toEqual(['ok', 'full']);
});

it('is nothing to speak of where no limit is set, until one that was on is taken away', () => {
  const alarms = new AlarmThresholds();
  expect([alarms.evaluate(1, []), alarms.isRaised]).toEqual([undefined, false]);
  expect([alarms.evaluate(50, [{ above: 40 }]), alarms.isRaised]).toEqual(['above 40', true]);
  expect([alarms.evaluate(50, []), alarms.isRaised, alarms.evaluate(50, [])]).toEqual(['ok', false, undefined]);
});

it('that is on says since when and past which limit, however often it is measured again', () => {
  const alarms = new AlarmThresholds();
  const thresholds = [{ above: 40, name: 'hot' }, { below: 5 }];
  for (const [atMs, value] of [20, 41, 45].entries()) alarms.evaluate(value, thresholds, atMs);
  expect(alarms.raised).toEqual([{ name: 'hot', above: 40, sinceMs: 1 }]);
  alarms.evaluate(3, thresholds, 9);
  expect(alarms.raised).toEqual([{ name: 'below 5', below: 5, sinceMs: 9 }]);
});

it.each([
  [{ above: 40, hysteresis: 2 }, { above: 41, hysteresis: 2 }, 45, 39.5, 'above 41'],
  [{ below: 5, hysteresis: 2 }, { below: 4, hysteresis: 2 }, 3, 5.5, 'below 4'],
] as const)('stays on within its hysteresis when its limit changes: %j', (before, after, first, within, name) => {
  const alarms = new AlarmThresholds();
  alarms.evaluate(first, [before], 7);
  expect(alarms.evaluate(within, [after], 8)).toBe(name);
  expect(alarms.raised).toMatchObject([{ name, sinceMs: 7 }]);
});

it('does not take over what another limit, or one on the other side, has raised', () => {
  const alarms = new AlarmThresholds();
  alarms.evaluate(45, [{ above: 40, hysteresis: 10 }]);
  expect(alarms.evaluate(45, [{ below: 40, hysteresis: 10 }])).toBe('ok');
  alarms.evaluate(45, [{ above: 40, hysteresis: 10 }]);
  expect(
    alarms.evaluate(45, [
      { above: 50, hysteresis: 10 },
      { above: 40, hysteresis: 10 },
    ]),
  ).toBeUndefined();
});
