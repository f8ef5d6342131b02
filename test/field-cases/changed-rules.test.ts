/** Rules that are changed while they are in force: what is set, what waits for its time, and what a latch has left. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { RuleInForce } from '../../src/actuators/rule-in-force.ts';
import { pump, RuleBench, rule } from '../support/rule-bench.ts';

type When = NonNullable<RuleInForce['when']>;

let world: RuleBench;
beforeEach(() => {
  world = new RuleBench();
});

const settings = pump({ safe: { start: false } });
const open = (...rules: readonly RuleInForce[]) => world.open(rules, settings);

/** A rule with another condition; without `otherwise` where none is given. */
const ruleOf = (when: Partial<When>, otherwise?: boolean): RuleInForce => ({
  ...rule('room', true, otherwise),
  when: { sensor: 'room', key: 'value', hysteresis: 0, forMs: 0, ...when },
});
const below = (limit: number, more: Partial<When> = {}, otherwise?: boolean): RuleInForce =>
  ruleOf({ below: limit, ...more }, otherwise);
const above = (limit: number, more: Partial<When> = {}, otherwise?: boolean): RuleInForce =>
  ruleOf({ above: limit, ...more }, otherwise);
const told = () => world.bench.fake('pump').told;

describe('a changed threshold', () => {
  it.each([
    ['below', below(20, { forMs: 60_000 }, false), below(21, { forMs: 60_000 }, false), 18],
    ['above', above(60, { forMs: 60_000 }), above(55, { forMs: 60_000 }), 70],
    ['longer time', above(60, { forMs: 60_000 }), above(60, { forMs: 600_000 }), 70],
  ])('leaves set what is still so (%s)', async (_name, before, after, value) => {
    await open(before);
    expect(await world.after({ room: value }, 70_000)).toBe(true);
    told().length = 0;
    world.rules.configure([after]);
    expect(await world.after({ room: value }, 30_000)).toBe(true);
    expect(told()).toEqual([]);
  });

  it.each([
    ['below', below(20, { hysteresis: 2 }, false), below(19, { hysteresis: 2 }, false), 18, 20.5],
    ['above', above(80, { hysteresis: 10 }, false), above(85, { hysteresis: 10 }, false), 90, 78],
  ])('leaves set what lies within its hysteresis (%s)', async (_name, before, after, first, within) => {
    await open(before);
    await world.after({ room: first });
    expect(await world.after({ room: within })).toBe(true);
    world.rules.configure([after]);
    expect(await world.after({ room: within }, 30_000)).toBe(true);
  });

  it('ends what the new one says is over, at once', async () => {
    await open(below(20, { hysteresis: 2 }, false));
    await world.after({ room: 18 });
    world.rules.configure([below(15, { hysteresis: 2 }, false)]);
    await world.bench.clock.advance(0);
    expect(world.shown).toBe(false);
  });

  it('does not begin what lies within the hysteresis alone', async () => {
    await open(above(80, { hysteresis: 10 }, false));
    await world.after({ room: 75 });
    world.rules.configure([above(78, { hysteresis: 10 }, false)]);
    expect(await world.after({ room: 75 }, 30_000)).toBe(false);
  });

  it('does not begin the waiting anew', async () => {
    await open(below(20, { forMs: 60_000 }, false));
    await world.after({ room: 18 }, 50_000);
    world.rules.configure([below(21, { forMs: 60_000 }, false)]);
    expect(await world.after({ room: 18 }, 9_000)).toBe(false);
    expect(await world.after({ room: 18 }, 2_000)).toBe(true);
  });

  it('counts a shorter time from where the waiting began', async () => {
    await open(ruleOf({ any: [{ sensor: 'room', key: 'value', above: 60, hysteresis: 0 }], forMs: 600_000 }));
    await world.after({ room: 70 }, 50_000);
    world.rules.configure([above(60, { forMs: 30_000 })]);
    await world.bench.clock.advance(0);
    expect(world.shown).toBe(true);
  });

  it('begins the waiting where it lets hold what did not', async () => {
    await open(below(15, { forMs: 30_000 }, false));
    await world.after({ room: 18 }, 50_000);
    world.rules.configure([below(20, { forMs: 30_000 }, false)]);
    expect(await world.after({ room: 18 }, 29_000)).toBe(false);
    expect(await world.after({ room: 18 }, 2_000)).toBe(true);
  });

  it('does not put off that the sensor is lost', async () => {
    await open(above(10, {}, false));
    await world.after({ room: 20 });
    await world.bench.clock.advance(20_000);
    world.rules.configure([above(9, {}, false)]);
    await world.bench.clock.advance(7_000);
    expect(world.shown).toBe(false);
  });

  it('keeps lost what is lost', async () => {
    await open(above(10, {}, false));
    await world.after({ room: 20 });
    await world.bench.clock.advance(60_000);
    world.rules.configure([above(9, {}, false)]);
    expect(await world.after({}, 60_000)).toBe(false);
    expect(await world.after({ room: 20 })).toBe(true);
  });

  it('holds through a restart as it does through a reload', async () => {
    await open(below(20, { hysteresis: 2 }, false));
    await world.after({ room: 18 });
    await world.kill(1_000, [below(19, { hysteresis: 2 }, false)], settings);
    expect(await world.after({ room: 20.5 })).toBe(true);
  });
});

describe('a latch', () => {
  it.each([
    ['filling', below(20), below(25), 10, 50],
    ['emptying', above(80), above(75), 90, 50],
  ])(
    'keeps what it has left when its threshold changes in between (%s)',
    async (_name, before, after, first, between) => {
      await open(before);
      await world.after({ room: first });
      expect(await world.after({ room: between })).toBe(true);
      world.rules.configure([after]);
      expect(await world.after({ room: between }, 30_000)).toBe(true);
      world.rules.configure([]);
      await world.bench.clock.advance(0);
      expect(world.shown).toBe(false);
    },
  );
});

it('changed values apply at once', async () => {
  await open(above(10, {}, false));
  await world.after({ room: 20 });
  world.rules.configure([{ ...above(10, {}, false), set: { actuator: 'pump', value: false }, otherwise: true }]);
  await world.bench.clock.advance(0);
  expect(world.shown).toBe(false);
  expect(await world.after({ room: 5 })).toBe(true);
});

it('a curve that changes is followed with the last reading', async () => {
  const curve = (points: [number, number][]): RuleInForce => {
    const { when: _none, ...others } = rule('room', 0);
    return { ...others, set: { actuator: 'pump', curve: { sensor: 'room', key: 'value', points } } };
  };
  const line = (from: number, to: number) =>
    curve([
      [0, from],
      [100, to],
    ]);
  world.bench.fake('pump').shown = 0;
  await world.open([line(0, 100)], pump({ valueType: 'number' }));
  await world.after({ room: 40 });
  told().length = 0;
  world.rules.configure([line(10, 60)]);
  await world.bench.clock.advance(0);
  expect(told()).toEqual([30]);
});
