import { describe, expect, it } from 'vitest';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import type { Sample } from '../../../src/sensors/kind/sensor.ts';
import { DeadbandRules, type KeyRules } from '../../../src/telemetry/deadband-rules.ts';
import type { StateOwner } from '../../../src/telemetry/standing-states.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function given(rules: KeyRules) {
  const clock = new FakeClock({ monotonicMs: 0 });
  const entries: TelemetryEntry[] = [];
  const reportRules = new DeadbandRules({
    clock,
    rulesFor: () => rules,
    report: (reported) => entries.push(...reported),
  });
  return {
    clock,
    entries,
    reportRules,
    /** Gives values a second apart; returns what was reported, as [key, value] pairs. */
    async take(...values: JsonValue[]): Promise<[string, JsonValue][]> {
      for (const value of values) {
        reportRules.take([
          { sensor: 'roof', key: 'temperature', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() },
        ]);
        await clock.advance(1_000);
      }
      return entries.map((entry) => [entry.key, entry.value]);
    },
  };
}

const values = (pairs: [string, JsonValue][]): JsonValue[] => pairs.map(([, value]) => value);

describe('report rules', () => {
  it('report every sample as it is when there are none', async () => {
    expect(await given({}).take(20, 20, 'text', true, null, 9007199254740993n)).toEqual(
      [20, 20, 'text', true, null, 9007199254740993n].map((value) => ['temperature', value]),
    );
  });

  it('report within a deadband that a number has become another kind of value, or is one again', async () => {
    expect(values(await given({ deadband: 5 }).take(20, 'open', 'open', 20, null, null, true, 21))).toEqual([
      20,
      'open',
      20,
      null,
      true,
      21,
    ]);
  });

  it('remember ten thousand keys, and forget the one that came longest ago, with nothing of it unsaid', async () => {
    const { clock, entries, reportRules } = given({ deadband: 5, minIntervalMs: 3_600_000 });
    const take = (key: string, value: JsonValue): void =>
      void reportRules.take([{ sensor: 'line', key, value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
    for (const key of ['old', 'first']) take(key, 1);
    for (let at = 0; at < 9_998; at += 1) take(`k${at}`, at);
    take('old', 100);
    take('first', 2);
    entries.splice(0);
    take('one more', 1);
    take('k0', 0);
    take('old', 101);
    take('first', 3);
    expect(entries.map(({ key, value }) => [key, value])).toEqual([
      ['one more', 1],
      ['k0', 0],
    ]);
    for (let at = 0; at < 10_000; at += 1) take(`n${at}`, at);
    expect(entries.filter(({ key }) => key === 'old' || key === 'first').map(({ key, value }) => [key, value])).toEqual(
      [['old', 101]],
    );
    reportRules.close();
  });

  it('hold longs against each other exactly, and against other numbers as numbers', async () => {
    const long = 2n ** 60n;
    expect(values(await given({ deadband: 2 }).take(long, long + 1n, long + 2n))).toEqual([long, long + 2n]);
    expect(values(await given({ deadband: 2 }).take(10n, 11.5, 12, 13n, 14n))).toEqual([10n, 12, 14n]);
  });

  it.each([
    ['nothing', {}, 9_007_199_254_740_993n],
    ['rounding', { round: 1 }, 9_007_199_254_740_993n],
  ])('leave a long alone: %s', async (_name, rules, expected) => {
    expect(values(await given(rules).take(9_007_199_254_740_993n))).toEqual([expected]);
  });

  it('forget a sensor or a reading that is gone, and nothing of those that stay', async () => {
    const { take, entries, reportRules } = given({ deadband: 5 });
    await take(20);
    reportRules.keepOnly(({ sensor, reading }) => sensor === 'roof' && reading === 'temperature');
    await take(21);
    expect(entries.map(({ value }) => value)).toEqual([20]);
    reportRules.keepOnly(({ sensor }) => sensor === 'cellar');
    await take(21);
    reportRules.keepOnly(({ sensor, reading }) => sensor === 'roof' && reading === 'humidity');
    await take(22);
    expect(entries.map(({ value }) => value)).toEqual([20, 21, 22]);
  });

  it('round, then rename', async () => {
    expect(await given({ rename: 'roof', round: 1 }).take(70.466)).toEqual([['roof', 70.5]]);
  });

  it.each([
    [1.005, 2, 1.01],
    [-1.005, 2, -1.01],
    [2.5, 0, 3],
    [1e-7, 2, 0],
    [1e22, 2, 1e22],
    [-0.001, 2, 0],
    [1.8446744073709552e19, 2, 1.8446744073709552e19],
    [123456789012.345, 10, 123456789012.345],
  ])('round %d to %d places as %d', async (value, round, expected) => {
    expect(values(await given({ round }).take(value))).toEqual([expected]);
  });

  it('keep back changes smaller than the deadband, measured from the last report', async () => {
    expect(values(await given({ deadband: 0.1 }).take(20, 20.05, 20.09, 20.1, 20.15, 20))).toEqual([20, 20.1, 20]);
  });

  it('take a change of exactly the deadband for a change, in spite of binary fractions', async () => {
    expect(values(await given({ deadband: 0.1 }).take(20.1, 20.2))).toEqual([20.1, 20.2]);
  });

  it('take a deadband in percent as a share of the last reported value, whatever its sign', async () => {
    expect(values(await given({ deadband: '10 %' }).take(100, 109, 110, 120, 121))).toEqual([100, 110, 121]);
    expect(values(await given({ deadband: '2.5%' }).take(-100, -98, -97.5))).toEqual([-100, -97.5]);
    expect(values(await given({ deadband: '0 %' }).take(2, 2, 2.5))).toEqual([2, 2.5]);
  });

  it('report only changes with a deadband of 0, of any type', async () => {
    const nested = { door: [1, 2] };
    expect(
      values(await given({ deadband: 0 }).take(true, true, false, 'open', 'open', nested, { door: [1, 2] }, 1, 1)),
    ).toEqual([true, false, 'open', nested, 1]);
  });

  it('report an unchanged value when the greatest interval has passed', async () => {
    expect(values(await given({ deadband: 1, maxIntervalMs: 3_000 }).take(5, 5, 5, 5, 5, 5, 5))).toEqual([5, 5, 5]);
  });

  it.each([
    [60_000, 60_000, 1_000],
    [10_000, 600_000, 1_000],
    [200, 1_000, 50],
  ])(
    'report an unchanged value in time though reads come a little sooner or later: every %d ms, by %d ms',
    (periodMs, maxIntervalMs, byMs) => {
      const { reportRules, entries, clock } = given({ deadband: 1, maxIntervalMs });
      const take = (monotonicMs: number): void =>
        void reportRules.take([{ sensor: 'roof', key: 't', value: 5, bootId: clock.bootId, monotonicMs }]);
      const intervals = maxIntervalMs / periodMs;
      take(byMs);
      for (let at = 1; at <= 2 * intervals; at += 1) take(at * periodMs + (at === intervals ? 0 : byMs));
      expect(entries.map(({ monotonicMs }) => monotonicMs)).toEqual([byMs, maxIntervalMs, 2 * maxIntervalMs + byMs]);
      // No sooner than by that.
      take(2 * maxIntervalMs + byMs + maxIntervalMs - byMs - 1);
      expect(entries).toHaveLength(3);
    },
  );

  it('report the newest change when the least interval has passed, with the time at which it was taken', async () => {
    const { take, entries, clock } = given({ minIntervalMs: 10_000 });
    await take(1, 2, 3);
    expect(entries.map((entry) => entry.value)).toEqual([1]);
    await clock.advance(10_000);
    expect(entries.map((entry) => [entry.value, entry.monotonicMs])).toEqual([
      [1, 0],
      [3, 2_000],
    ]);
  });

  it('forget a change that came too soon and went back', async () => {
    const { take, entries, clock } = given({ minIntervalMs: 10_000, deadband: 1 });
    await take(1, 5, 1);
    await clock.advance(20_000);
    expect(entries.map((entry) => entry.value)).toEqual([1]);
  });

  it('report what waits when they close', async () => {
    const { take, entries, reportRules } = given({ minIntervalMs: 10_000 });
    await take(1, 2);
    reportRules.close();
    expect(entries.map((entry) => entry.value)).toEqual([1, 2]);
  });

  it('report what waits of a sensor or a reading that is gone, once, with the time at which it was taken', async () => {
    for (const isConfigured of [
      ({ sensor }: StateOwner) => sensor !== 'roof',
      ({ reading }: StateOwner) => reading !== 'temperature',
    ]) {
      const { take, entries, reportRules, clock } = given({ minIntervalMs: 10_000 });
      await take(1, 2);
      reportRules.keepOnly(isConfigured);
      await clock.advance(20_000);
      reportRules.close();
      expect(entries.map(({ value, monotonicMs }) => [value, monotonicMs])).toEqual([
        [1, 0],
        [2, 1_000],
      ]);
    }
  });

  it('report nothing that waited once it is not to be reported any more', async () => {
    const rules: { minIntervalMs: number; report: boolean } = { minIntervalMs: 10_000, report: true };
    const { take, entries, clock } = given(rules);
    await take(1, 2);
    rules.report = false;
    await clock.advance(20_000);
    expect(entries.map(({ value }) => value)).toEqual([1]);
  });

  it('report what waited while it was not to be reported once it is again', async () => {
    const rules: { deadband: number; minIntervalMs: number; report: boolean } = {
      deadband: 1,
      minIntervalMs: 10_000,
      report: true,
    };
    const { take, entries, clock } = given(rules);
    await take(20, 25);
    rules.report = false;
    await clock.advance(20_000);
    rules.report = true;
    await take(25, 25);
    expect(entries.map(({ value }) => value)).toEqual([20, 25]);
  });

  it('begin anew under another name, with nothing unsaid under the old one', async () => {
    const rules: { rename: string; deadband: number; minIntervalMs: number; alarms: { above: number }[] } = {
      rename: 'old',
      deadband: 1,
      minIntervalMs: 10_000,
      alarms: [{ above: 30 }],
    };
    const { take, entries, clock } = given(rules);
    await take(20, 25);
    rules.rename = 'new';
    await take(25, 35);
    await clock.advance(20_000);
    expect(entries.map(({ key, value, monotonicMs }) => [key, value, monotonicMs])).toEqual([
      ['old', 20, 0],
      ['old_alarm', 'ok', 0],
      ['old', 25, 1_000],
      ['new', 25, 2_000],
      ['new_alarm', 'ok', 2_000],
      ['new', 35, 3_000],
      ['new_alarm', 'above 30', 3_000],
    ]);
  });

  it('raise an alarm once, with its value, and clear it only beyond the hysteresis', async () => {
    const { take, entries } = given({ alarms: [{ above: 40, hysteresis: 2 }], deadband: 100 });
    expect(await take(30, 41, 39, 42, 37)).toEqual([
      ['temperature', 30],
      ['temperature_alarm', 'ok'],
      ['temperature', 41],
      ['temperature_alarm', 'above 40'],
      ['temperature', 37],
      ['temperature_alarm', 'ok'],
    ]);
    expect(entries.map((entry) => entry.class)).toEqual(['regular', 'regular', 'alarm', 'alarm', 'alarm', 'alarm']);
  });

  it.each([
    ['a text', 'fault', 'idle'],
    ['a door', true, false],
  ])('raise an alarm for %s that is one value for its time', async (_, bad, good) => {
    const { take } = given({ alarms: [{ equal: bad, name: 'bad', forMs: 2_000 }], deadband: 0 });
    expect(await take(good, bad, good, bad, bad, bad, good)).toEqual([
      ['temperature', good],
      ['temperature_alarm', 'ok'],
      ['temperature', bad],
      ['temperature', good],
      ['temperature', bad],
      ['temperature', bad],
      ['temperature_alarm', 'bad'],
      ['temperature', good],
      ['temperature_alarm', 'ok'],
    ]);
  });

  it('report the sum of a part of a window, hold it against no limit, and show it as a part', () => {
    const reported: (readonly [string, JsonValue])[] = [];
    const observed: unknown[] = [];
    const clock = new FakeClock({ monotonicMs: 0 });
    const rules = new DeadbandRules({
      clock,
      rulesFor: () => ({ alarms: [{ below: 100 }] }),
      report: (entries) => void reported.push(...entries.map(({ key, value }) => [key, value] as const)),
      observe: ({ value, isPart }) => void observed.push([value, isPart]),
    });
    const sample = { sensor: 'meter', key: 'flow_sum', bootId: clock.bootId, monotonicMs: 0 };
    rules.take([{ ...sample, value: 25, isPart: true }]);
    rules.take([{ ...sample, value: 300, monotonicMs: 60_000 }]);
    expect([reported, observed]).toEqual([
      [
        ['flow_sum', 25],
        ['flow_sum', 300],
        ['flow_sum_alarm', 'ok'],
      ],
      [
        [25, true],
        [300, undefined],
      ],
    ]);
  });

  it('name every alarm that is on', async () => {
    const { take } = given({ alarms: [{ above: 40 }, { above: 60, name: 'fire' }, { below: 0 }], deadband: 100 });
    expect((await take(70, 50, -1)).filter(([key]) => key.endsWith('_alarm'))).toEqual([
      ['temperature_alarm', 'above 40, fire'],
      ['temperature_alarm', 'above 40'],
      ['temperature_alarm', 'below 0'],
    ]);
  });

  it('let an alarm through at once although the least interval has not passed', async () => {
    const { take, entries } = given({ minIntervalMs: 60_000, alarms: [{ above: 40 }] });
    await take(1, 2, 50);
    expect(entries.map((entry) => [entry.key, entry.value])).toEqual([
      ['temperature', 1],
      ['temperature_alarm', 'ok'],
      ['temperature', 50],
      ['temperature_alarm', 'above 40'],
    ]);
  });

  it('say at the first value after a restart that an alarm is over, or on, as the one before may have said otherwise', async () => {
    expect(await given({ alarms: [{ above: 40 }], deadband: 100 }).take(20, 21)).toEqual([
      ['temperature', 20],
      ['temperature_alarm', 'ok'],
    ]);
    expect(await given({ alarms: [{ above: 40 }], deadband: 100 }).take(50, 51)).toEqual([
      ['temperature', 50],
      ['temperature_alarm', 'above 40'],
    ]);
  });

  it('watch longs too, and hold a deadband over them', async () => {
    const long = 9007199254740993n;
    expect(
      await given({ alarms: [{ above: 40, hysteresis: 1 }], deadband: 10 }).take(long, long + 9n, long + 10n, 39n),
    ).toEqual([
      ['temperature', long],
      ['temperature_alarm', 'above 40'],
      ['temperature', long + 10n],
      ['temperature', 39n],
      ['temperature_alarm', 'ok'],
    ]);
  });

  it.each([Infinity, -Infinity])('make no value, and no word of any alarm, of what is infinite (%d)', async (value) => {
    expect(await given({ alarms: [{ above: 40 }] }).take(50, value)).toEqual([
      ['temperature', 50],
      ['temperature_alarm', 'above 40'],
    ]);
  });

  it('leave out a key that is not to be reported', async () => {
    expect(await given({ report: false }).take(1, 2)).toEqual([]);
  });

  it('show local rules every value under its name, also of a key that is not to be reported', () => {
    const seen: unknown[] = [];
    const rules = { rename: 'warmth', deadband: 5 };
    for (const report of [true, false]) {
      const clock = new FakeClock();
      const observe = ({ sensor, key, value }: Sample): void => void seen.push([sensor, key, value]);
      const reportRules = new DeadbandRules({
        clock,
        rulesFor: () => ({ ...rules, report }),
        report: () => {},
        observe,
      });
      for (const value of [10, 11])
        reportRules.take([{ sensor: 'roof', key: 't', value, bootId: clock.bootId, monotonicMs: 0 }]);
    }
    expect(seen).toEqual([10, 11, 10, 11].map((value) => ['roof', 'warmth', value]));
  });

  it('count the least interval from the report, not from the sample that waited for it', async () => {
    const { take, entries, clock } = given({ minIntervalMs: 10_000 });
    await take(1, 2);
    await clock.advance(8_500);
    expect(values(await take(3))).toEqual([1, 2]);
    await clock.advance(8_400);
    expect(entries).toHaveLength(2);
    await clock.advance(100);
    expect(entries.map(({ value }) => value)).toEqual([1, 2, 3]);
  });

  it('keep nothing waiting for longer than the least interval, however far ahead the time of the last sample lies', async () => {
    const { clock, entries, reportRules } = given({ minIntervalMs: 10_000 });
    const take = (value: JsonValue, monotonicMs: number): void =>
      void reportRules.take([{ sensor: 'roof', key: 't', value, bootId: clock.bootId, monotonicMs }]);
    take(1, 3_600_000);
    take(2, 0);
    await clock.advance(10_000);
    expect(entries.map(({ value }) => value)).toEqual([1, 2]);
  });

  it('keep sensors with the same key apart', () => {
    const { reportRules, entries, clock } = given({ deadband: 0 });
    for (const sensor of ['roof', 'cellar'])
      reportRules.take([{ sensor, key: 't', value: 1, bootId: clock.bootId, monotonicMs: 0 }]);
    expect(entries).toHaveLength(2);
  });
});

it('tells the alarms that are on, under the name that the key has at the platform', async () => {
  const { reportRules, take } = given({ rename: 'roofTemperature', alarms: [{ above: 40, name: 'hot' }] });
  await take(20, 41, 42);
  expect(reportRules.alarms()).toEqual([
    {
      sensor: 'roof',
      key: 'roofTemperature',
      reading: 'temperature',
      name: 'hot',
      limit: 'above 40',
      above: 40,
      sinceMs: 1_000,
    },
  ]);
  await take(39);
  expect(reportRules.alarms()).toEqual([]);
});
