/** When an alarm begins, stays and ends, value by value. */
import { describe, expect, it } from 'vitest';
import type { ConditionConfig } from '../../../src/config/schema/agent-config.ts';
import type { LocalTime } from '../../../src/host/local-time.ts';
import { AlarmThresholds, type Threshold } from '../../../src/telemetry/alarm-thresholds.ts';
import type { JsonValue } from '../../../src/values/json.ts';

/** What each value in turn makes new. */
function said(thresholds: readonly Threshold[], ...values: readonly JsonValue[]): (string | undefined)[] {
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

it.each<[Threshold, readonly JsonValue[], readonly (string | undefined)[]]>([
  [{ equal: 'fault' }, ['idle', 'fault', 'fault', 'idle'], ['ok', 'equal to fault', undefined, 'ok']],
  [{ equal: true, name: 'open' }, [true, 'on', 1, true], ['open', 'ok', undefined, 'open']],
  [{ equal: false }, [true, false], ['ok', 'equal to off']],
  [{ equal: 3 }, [3, 3n, 2, '3'], ['equal to 3', undefined, 'ok', undefined]],
])('that is for one value begins with it and ends with any other: %o', (threshold, values, told) => {
  expect(said([threshold], ...values)).toEqual(told);
});

const AT_NIGHT = { time: { from: '22:00', to: '06:00' } } as const;
const night = { date: '01-05', time: '23:30', weekday: 'mon' } as unknown as LocalTime;
const day = { ...night, time: '12:00' } as LocalTime;
const condition = (one: object): ConditionConfig => ({ hysteresis: 0, ...one });

describe('an alarm of several conditions', () => {
  it.each<[string, Threshold, LocalTime | undefined, readonly JsonValue[], readonly (string | undefined)[]]>([
    [
      'within its hours',
      { all: [condition({ above: 5 }), condition(AT_NIGHT)], name: 'n' },
      night,
      [6, 4],
      ['n', 'ok'],
    ],
    [
      'not outside of them',
      { all: [condition({ above: 5 }), condition(AT_NIGHT)], name: 'n' },
      day,
      [6, 4],
      ['ok', undefined],
    ],
    [
      'while the hour is not known',
      { all: [condition({ above: 5 }), condition(AT_NIGHT)], name: 'n' },
      undefined,
      [6],
      ['n'],
    ],
    [
      'for either limit',
      { any: [condition({ above: 8 }), condition({ below: 2 })] },
      day,
      [9, 5, 1],
      ['above 8 or below 2', 'ok', 'above 8 or below 2'],
    ],
    [
      'for every value but one',
      { not: condition({ equal: 'idle' }) },
      day,
      ['idle', 'run'],
      ['ok', 'not equal to idle'],
    ],
    [
      'with the hysteresis of a part that is denied',
      { not: condition({ above: 10, hysteresis: 2 }), name: 'low' },
      day,
      [12, 9, 9.5, 11],
      ['ok', undefined, undefined, undefined],
    ],
  ])('is raised %s', (_, threshold, now, values, told) => {
    const alarms = new AlarmThresholds();
    expect(values.map((value) => alarms.evaluate(value, [threshold], { localTime: () => now }))).toEqual(told);
  });

  it('says its condition in words', () => {
    const alarms = new AlarmThresholds();
    const nested = {
      all: [condition({ above: 5 }), condition({ any: [condition({ equal: 7 }), condition(AT_NIGHT)] })],
    };
    alarms.evaluate(7, [nested], { localTime: () => day });
    expect(alarms.raised.map(({ limit }) => limit)).toEqual(['above 5 and (equal to 7 or from 22:00 to 06:00)']);
  });
});

it('has no limit for what is no number', () => {
  expect(said([{ above: 4 }], 'hot', true, 5)).toEqual(['ok', undefined, 'above 4']);
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
  for (const [atMs, value] of [20, 41, 45].entries()) alarms.evaluate(value, thresholds, { atMs });
  expect(alarms.raised).toEqual([{ name: 'hot', limit: 'above 40', above: 40, sinceMs: 1 }]);
  alarms.evaluate(3, thresholds, { atMs: 9 });
  expect(alarms.raised).toEqual([{ name: 'below 5', limit: 'below 5', below: 5, sinceMs: 9 }]);
});

describe('a threshold with a time', () => {
  const freezer: readonly Threshold[] = [{ above: -15, hysteresis: 2, forMs: 600_000 }];
  const told = (
    thresholds: readonly Threshold[],
    values: readonly (readonly [minute: number, value: number])[],
    stood: readonly string[] = [],
  ): readonly (string | undefined)[] => {
    const alarms = new AlarmThresholds();
    return values.map(([minute, value]) => alarms.evaluate(value, thresholds, { atMs: minute * 60_000, stood }));
  };

  it('is raised by the value at which it was past its limit for so long, and by none before', () => {
    expect(
      told(freezer, [
        [0, -20],
        [1, -14],
        [6, -12],
        [10.9, -14],
        [11, -14],
        [12, -14],
      ]),
    ).toEqual(['ok', undefined, undefined, undefined, 'above -15', undefined]);
  });

  it('begins anew with each value within the limit, and not with values that are missing', () => {
    expect(
      told(freezer, [
        [0, -14],
        [9, -14],
        [9.5, -15],
        [10, -14],
        [19, -14],
        [20, -14],
      ]),
    ).toEqual(['ok', undefined, undefined, undefined, undefined, 'above -15']);
    expect(
      told(freezer, [
        [0, -14],
        [45, -14],
      ]),
    ).toEqual(['ok', 'above -15']);
  });

  it('clears at once, by its hysteresis', () => {
    expect(
      told(freezer, [
        [0, -14],
        [10, -14],
        [11, -16.5],
        [12, -17],
      ]),
    ).toEqual(['ok', 'above -15', undefined, 'ok']);
  });

  it('goes on after a restart when it stood before', () => {
    expect(
      told(
        freezer,
        [
          [0, -14],
          [1, -14],
        ],
        ['above -15'],
      ),
    ).toEqual(['above -15', undefined]);
    expect(
      told(
        freezer,
        [
          [0, -16],
          [1, -14],
        ],
        ['above -15'],
      ),
    ).toEqual(['ok', undefined]);
  });

  it('waits for its time after a restart when another one of the key stood', () => {
    const both = [
      { above: -15, name: 'warm' },
      { above: -10, name: 'thawing', forMs: 120_000 },
    ];
    expect(
      told(
        both,
        [
          [0, -9],
          [1, -9],
          [2, -9],
        ],
        ['warm'],
      ),
    ).toEqual(['warm', undefined, 'warm, thawing']);
  });

  it('waits for itself beside one without a time', () => {
    const both = [
      { below: 2, name: 'low', forMs: 120_000 },
      { below: 1, name: 'very low' },
    ];
    expect(
      told(both, [
        [0, 5],
        [1, 0.5],
        [2, 0.5],
        [3, 0.5],
        [4, 1.5],
        [5, 2.5],
      ]),
    ).toEqual(['ok', 'very low', undefined, 'low, very low', 'low', 'ok']);
  });
});

it.each([
  [{ above: 40, hysteresis: 2 }, { above: 41, hysteresis: 2 }, 45, 39.5, 'above 41'],
  [{ below: 5, hysteresis: 2 }, { below: 4, hysteresis: 2 }, 3, 5.5, 'below 4'],
] as const)('stays on within its hysteresis when its limit changes: %j', (before, after, first, within, name) => {
  const alarms = new AlarmThresholds();
  alarms.evaluate(first, [before], { atMs: 7 });
  expect(alarms.evaluate(within, [after], { atMs: 8 })).toBe(name);
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
