/** Conditions of several parts: against every world in which the values that are not known may be one thing or the other. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConditionConfig } from '../../../src/config/fields/conditions.ts';
import { evaluate, type Truth, timeHolds, valueHolds } from '../../../src/config/keys/condition-truth.ts';
import { partsOf } from '../../../src/config/keys/rule-parts.ts';

const one = (sensor: string): ConditionConfig => ({ sensor, hysteresis: 0 });
const { condition } = fc.letrec<{ condition: ConditionConfig }>((tie) => {
  const several = fc.array(tie('condition'), { minLength: 1, maxLength: 3 });
  return {
    condition: fc.oneof(
      { maxDepth: 4 },
      fc.constant(one('part')),
      several.map((all) => ({ all, hysteresis: 0 })),
      several.map((any) => ({ any, hysteresis: 0 })),
      tie('condition').map((not) => ({ not, hysteresis: 0 })),
    ),
  };
});
const truth = fc.constantFrom<Truth>(true, false, 'unread', 'lost');

/** In two values, as everybody knows it. */
function holds({ all, any, not, sensor = '' }: ConditionConfig, known: ReadonlyMap<string, Truth>): boolean {
  if (all !== undefined) return all.every((part) => holds(part, known));
  if (any !== undefined) return any.some((part) => holds(part, known));
  return not === undefined ? known.get(sensor) === true : !holds(not, known);
}

/** Each part with a name of its own: that one value is in two places decides nothing. */
function numbered({ all, any, not }: ConditionConfig, next: { at: number }): ConditionConfig {
  const each = (list: readonly ConditionConfig[]) => list.map((part) => numbered(part, next));
  if (all !== undefined) return { all: each(all), hysteresis: 0 };
  if (any !== undefined) return { any: each(any), hysteresis: 0 };
  if (not !== undefined) return { not: numbered(not, next), hysteresis: 0 };
  next.at += 1;
  return one(`part${next.at}`);
}

describe('a condition of several parts', () => {
  it('is what it is whatever the values that are not known may be, and not known where they decide', () => {
    fc.assert(
      fc.property(condition, fc.array(truth, { minLength: 10, maxLength: 10 }), (drawn, truths) => {
        const whole = numbered(drawn, { at: 0 });
        const names = partsOf(whole).map((part) => part.condition.sensor ?? '');
        fc.pre(names.length <= truths.length);
        const known = new Map(names.map((name, index) => [name, truths[index] ?? false] as const));
        const open = names.filter((name) => typeof known.get(name) !== 'boolean');
        const worlds = Array.from({ length: 2 ** open.length }, (_, bits) =>
          holds(whole, new Map([...known, ...open.map((name, bit) => [name, ((bits >> bit) & 1) === 1] as const)])),
        );
        const told = evaluate(whole, ({ sensor = '' }) => known.get(sensor) ?? false);
        if (new Set(worlds).size === 1) expect(told).toBe(worlds[0]);
        else expect([...known.values()].filter((value) => typeof value !== 'boolean')).toContain(told);
      }),
    );
  });

  it('is lost where a lost value decides, and not where all is decided without it', () => {
    const [lost, unread, no] = [one('lost'), one('unread'), one('no')];
    const told = (whole: Partial<ConditionConfig>): Truth =>
      evaluate({ hysteresis: 0, ...whole }, ({ sensor }) => (sensor === 'no' ? false : (sensor as Truth)));
    expect(told({ all: [unread, lost] })).toBe('lost');
    expect(told({ any: [unread, { hysteresis: 0, all: [lost, no] }] })).toBe('unread');
    expect(told({ not: { hysteresis: 0, any: [lost, no] } })).toBe('lost');
  });
});

it('a comparison comes back by its hysteresis, on either side', () => {
  expect([81, 80, 21, 20].map((value) => valueHolds({ above: 80, hysteresis: 60 }, value, true))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect([19, 20, 79, 80].map((value) => valueHolds({ below: 20, hysteresis: 60 }, value, true))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect([80, 20].map((value) => valueHolds({ above: 80, hysteresis: 60 }, value, false))).toEqual([false, false]);
});

it('weekdays and dates hold as they are written', () => {
  const on = (date: string) =>
    timeHolds({ hysteresis: 0, dates: { from: '11-01', to: '03-31' } }, { time: '12:00', date, weekday: 'mon' });
  expect(['10-31', '11-01', '12-31', '01-01', '02-29', '03-31', '04-01'].map(on)).toEqual([
    false,
    true,
    true,
    true,
    true,
    true,
    false,
  ]);
  const of = (weekday: 'fri' | 'sat') =>
    timeHolds({ hysteresis: 0, weekdays: ['mon', 'fri'] }, { time: '00:00', date: '01-01', weekday });
  expect([of('fri'), of('sat')]).toEqual([true, false]);
});
