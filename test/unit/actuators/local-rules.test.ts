/** Rules over real outputs and gates: when a condition holds, what an output follows then, and what a restart, a reload and a dead sensor change. */
import { beforeEach, describe, expect, it } from 'vitest';
import { EMPTY_SLOTS } from '../../../src/actuators/priority-slots.ts';
import type { RuleInForce } from '../../../src/actuators/rule-in-force.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { pump, RuleBench, rule } from '../../support/rule-bench.ts';

const MINUTE_MS = 60_000;
let world: RuleBench;
beforeEach(() => {
  world = new RuleBench();
});

type When = NonNullable<RuleInForce['when']>;

/** With another condition in place of `above`, where it has one. */
function when({ when: before, ...one }: RuleInForce, changes: Partial<When>): RuleInForce {
  const isOther = changes.below !== undefined || changes.equal !== undefined;
  const { above = 10, ...others } = before ?? {};
  const changed: When = { hysteresis: 0, forMs: 0, ...others, ...(!isOther && { above }), ...changes };
  return { ...one, when: changed, sensors: { ...one.sensors, ...rule(changed.sensor ?? '', true).sensors } };
}
const heat = rule('heat', true, false);
const slots = () => world.bench.control.find('pump')?.slots ?? EMPTY_SLOTS;

describe('a condition', () => {
  it('holds above its limit, and until the value has come back by the hysteresis', async () => {
    await world.open([when(heat, { above: 40, hysteresis: 2 })], pump());
    const told: unknown[] = [];
    for (const value of [39, 40, 40.1, 39, 38.1, 38, 40, 41]) told.push(await world.after({ heat: value }));
    expect(told).toEqual([false, false, true, true, true, false, false, true]);
  });

  it.each<[Partial<When>, unknown, unknown]>([
    [{ below: 5, hysteresis: 1 }, 4, 6],
    [{ equal: 'open' }, 'open', 'shut'],
    [{ equal: 3 }, 3n, 4n],
    [{ above: 5 }, 6n, 'not a number'],
  ])('of %j holds for %s and not for %s', async (changes, yes, no) => {
    await world.open([when(heat, changes)], pump());
    world.rules.take('heat', 'value', yes as number);
    await world.bench.clock.advance(0);
    expect(world.shown).toBe(true);
    world.rules.take('heat', 'value', no as number);
    await world.bench.clock.advance(0);
    expect(world.shown).toBe(false);
  });

  it('has to hold for its time without a break', async () => {
    await world.open([when(heat, { forMs: 30_000 })], pump());
    expect(await world.after({ heat: 90 }, 20_000)).toBe(false);
    await world.after({ heat: 0 });
    expect(await world.after({ heat: 90 }, 29_000)).toBe(false);
    expect(await world.after({ heat: 90 })).toBe(true);
  });

  it('is counted anew when its sensor fails, and not when a value does not come', async () => {
    await world.open([when(heat, { forMs: 30_000 })], pump());
    await world.after({ heat: 90 });
    world.rules.sensorFailed('heat');
    expect(await world.after({ heat: 90 }, 29_000)).toBe(false);
    expect(await world.after({ heat: 90 })).toBe(true);
    await world.after({ heat: 0 });
    await world.after({ heat: 90 });
    expect(await world.after({}, 20_000)).toBe(true);
  });

  it('is told with what it has moved, once, and what a gate refuses is told too', async () => {
    world.bench.locked = true;
    await world.open([heat], pump());
    await world.after({ heat: 90 }, MINUTE_MS);
    expect(world.events).toEqual([{ rule: 'heat', on: true, refusal: expect.stringContaining('locked out') }]);
    world.bench.locked = false;
    await world.after({ heat: 90 });
    expect([world.events.at(-1), world.shown]).toEqual([{ rule: 'heat', on: true }, true]);
    await world.after({ heat: 0 });
    expect(world.events.at(-1)).toEqual({ rule: 'heat', on: false });
  });

  it('is of no other sensor and no other key, and of nothing once all is closed', async () => {
    await world.open([heat], pump());
    world.rules.take('other', 'value', 90);
    world.rules.take('heat', 'other', 90);
    world.rules.close();
    world.rules.take('heat', 'value', 90);
    await world.bench.clock.advance(MINUTE_MS);
    expect([world.bench.fake('pump').told, world.events]).toEqual([[], []]);
  });
});

describe('a sensor is lost', () => {
  it('when three values that were due did not come, and the output goes off', async () => {
    await world.open([rule('heat', true)], pump());
    await world.after({ heat: 90 });
    expect(await world.after({}, 26_000)).toBe(true);
    expect(await world.after({}, 2_000)).toBe(false);
    expect(await world.after({ heat: 90 })).toBe(true);
  });

  it('when only parts of windows come', async () => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    for (let n = 0; n < 6; n += 1) {
      world.rules.take('heat', 'value', undefined);
      await world.bench.clock.advance(12_000);
    }
    expect(world.shown).toBe(false);
  });

  it('and what the rule has for that goes on', async () => {
    await world.open([{ ...rule('heat', false, false), sensorLost: true }], pump());
    await world.after({ heat: 90 });
    expect(await world.after({}, 26_000)).toBe(false);
    expect(await world.after({}, 2_000)).toBe(true);
    expect(await world.after({ heat: 90 })).toBe(false);
  });

  it('when it reports by event and fails, or has said nothing for longer than lostAfter', async () => {
    const byEvent = (lostAfterMs: number) => ({ ...heat, sensors: { heat: { isByEvent: true, lostAfterMs } } });
    await world.open([byEvent(Number.POSITIVE_INFINITY)], pump());
    await world.after({ heat: 90 });
    expect(await world.after({}, 24 * 60 * MINUTE_MS)).toBe(true);
    world.rules.sensorFailed('heat');
    expect(await world.after({})).toBe(false);
    world.rules.configure([byEvent(MINUTE_MS)]);
    expect(await world.after({ heat: 90 })).toBe(true);
    expect(await world.after({}, MINUTE_MS)).toBe(false);
  });

  it('and an operator’s command stands', async () => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    await world.bench.set('pump', true);
    expect(await world.after({}, MINUTE_MS)).toBe(true);
  });
});

describe('an operator', () => {
  it('holds against a rule until what it says changes', async () => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    await world.bench.set('pump', false);
    expect(await world.after({ heat: 90 }, MINUTE_MS)).toBe(false);
    expect([await world.after({ heat: 0 }), await world.after({ heat: 90 })]).toEqual([false, true]);
  });

  it('holds until a release where the output says so, and for a time that came with the command', async () => {
    await world.open([heat], pump({ operatorUntil: 'release' }));
    await world.after({ heat: 90 });
    await world.bench.set('pump', false);
    await world.after({ heat: 0 });
    expect(await world.after({ heat: 90 })).toBe(false);
    void world.bench.control.release('pump');
    expect(await world.after({ heat: 90 })).toBe(true);
    await world.bench.control.set('pump', false, { by: 'rpc', forMs: 2 * MINUTE_MS }, new AbortController().signal);
    await world.after({ heat: 0 });
    expect(await world.after({ heat: 90 }, 90_000)).toBe(false);
    expect(await world.after({ heat: 90 }, MINUTE_MS)).toBe(true);
    expect(slots().ended).toMatchObject({ value: false, why: 'time' });
  });

  it('whom a gate has refused is not remembered, and a rule’s wish passes when the gate opens', async () => {
    await world.open([heat], pump({ limits: { minOffMs: 5 * MINUTE_MS } }));
    await world.bench.set('pump', true);
    await world.bench.set('pump', false);
    expect(await world.bench.set('pump', true)).toBe('actuators/min-off');
    expect(await world.after({ heat: 0 }, 10 * MINUTE_MS)).toBe(false);
    await world.bench.set('pump', true);
    await world.bench.set('pump', false);
    expect(await world.after({ heat: 90 }, MINUTE_MS)).toBe(false);
    expect(await world.after({ heat: 90 }, 5 * MINUTE_MS)).toBe(true);
  });

  it('whom the hardware has failed is not remembered either, but for off', async () => {
    await world.open([], pump());
    world.isMute = true;
    expect(await world.bench.set('pump', true)).not.toBe('moved');
    world.isMute = false;
    expect(await world.after({}, MINUTE_MS)).toBe(false);
    await world.bench.set('pump', true);
    world.isMute = true;
    void world.bench.set('pump', false);
    await world.bench.clock.advance(5_000);
    world.isMute = false;
    expect(await world.after({}, MINUTE_MS)).toBe(false);
  });
});

it('a rule that protects comes before an operator, whose command against it is refused, also while its sensor is lost', async () => {
  await world.open([{ ...rule('dry', false), protect: true, sensorLost: false }, heat], pump());
  expect(await world.after({ dry: 0, heat: 90 })).toBe(true);
  expect(await world.after({ dry: 90, heat: 90 })).toBe(false);
  expect(await world.bench.set('pump', true)).toBe('actuators/protected');
  await world.after({ heat: 90 }, MINUTE_MS);
  expect(slots().rules[0]).toMatchObject({ name: 'dry', isLost: true });
  expect(await world.bench.set('pump', true)).toBe('actuators/protected');
  expect(await world.after({ dry: 0, heat: 90 })).toBe(true);
});

describe('a condition of several', () => {
  const above = (sensor: string, limit: number, hysteresis = 0) => ({ sensor, key: 'value', above: limit, hysteresis });
  const of = (condition: Partial<When>, forMs = 0): RuleInForce => ({
    ...rule('both', true, false),
    when: { hysteresis: 0, forMs, ...condition },
    sensors: { ...rule('a', true).sensors, ...rule('b', true).sensors },
  });
  const phase = () => slots().rules[0]?.phase;

  it('waits for the values that it needs, and for no other', async () => {
    await world.open([of({ all: [above('a', 10), above('b', 10)] })], pump());
    await world.after({ a: 90 });
    expect(phase()).toBe('unread');
    expect(await world.after({ b: 90 })).toBe(true);
    world.rules.configure([of({ any: [above('a', 10), above('c', 10)] })]);
    expect(phase()).toBe('set');
    world.rules.configure([of({ all: [above('a', 95), above('c', 10)] })]);
    expect(phase()).toBe('otherwise');
  });

  it('is lost with a sensor that decides it, and with no other', async () => {
    await world.open([of({ all: [above('a', 10), { hysteresis: 0, not: above('b', 10) }] })], pump());
    expect(await world.after({ a: 90, b: 0 })).toBe(true);
    expect(await world.after({ a: 90 }, MINUTE_MS)).toBe(false);
    expect(slots().rules[0]).toMatchObject({ phase: 'set', isLost: true });
    await world.after({ a: 0 });
    expect(slots().rules[0]).toMatchObject({ phase: 'otherwise', isLost: false });
    await world.after({ a: 90 });
    expect(slots().rules[0]).toMatchObject({ isLost: true });
  });

  it('has a hysteresis in each comparison, also through a restart', async () => {
    const either = of({ any: [above('a', 80, 60), above('b', 10)] });
    await world.open([either], pump());
    const told: unknown[] = [await world.after({ a: 50, b: 90 })];
    for (const a of [50, 81, 21]) told.push(await world.after({ a, b: 0 }));
    await world.restart([either], pump());
    for (const a of [21, 20, 50]) told.push(await world.after({ a, b: 0 }));
    expect(told).toEqual([true, false, true, true, true, false, false]);
  });

  it('has one time to hold for, as a whole', async () => {
    await world.open([of({ any: [above('a', 10), above('b', 10)] }, 30_000)], pump());
    expect(await world.after({ a: 90, b: 0 }, 10_000)).toBe(false);
    expect(await world.after({ a: 90, b: 90 }, 10_000)).toBe(false);
    expect(await world.after({ a: 0, b: 90 }, 9_000)).toBe(false);
    expect(await world.after({ a: 0, b: 90 })).toBe(true);
  });

  it('waits for the value of a sensor that is another one now', async () => {
    await world.open([of({ all: [above('a', 10), above('b', 10)] })], pump());
    await world.after({ a: 90, b: 0 });
    world.rules.sensorChanged('a');
    expect(await world.after({ b: 90 })).toBe(false);
    expect(await world.after({ a: 90 })).toBe(true);
  });
});

describe('a curve', () => {
  const points = [
    [30, 0],
    [45, 90],
  ];
  const { when: _none, ...always } = rule('heat', 0);
  const cooling: RuleInForce = {
    ...always,
    set: { actuator: 'pump', curve: { sensor: 'heat', key: 'value', points } },
  };
  const fan = (changes: Parameters<typeof pump>[0] = {}) => pump({ valueType: 'number', ...changes });

  it('sets the output by each reading, without a condition, and writes what has moved by a hundredth of its span', async () => {
    await world.open([cooling], fan());
    const told: unknown[] = [];
    for (const heat of [20, 35, 35.1, 35.2, 60, 44.9, 44.8]) told.push(await world.after({ heat }));
    expect(told).toEqual([0, 30, 30, 31.2, 90, 90, 88.8]);
    expect(world.bench.fake('pump').told).toEqual([0, 30, 31.2, 90, 88.8]);
  });

  it('goes in steps of its actuator', async () => {
    await world.open([cooling], fan({ limits: { min: 0, max: 90, step: 5 } }));
    const told: unknown[] = [];
    for (const heat of [30.4, 30.9, 30.5, 30.8, 31.3, 44.9, 45]) told.push(await world.after({ heat }));
    expect(told).toEqual([0, 5, 5, 5, 5, 90, 90]);
  });

  it('applies while its condition holds, and what the rule says is one word for an operator', async () => {
    const day = {
      ...cooling,
      otherwise: 10,
      when: { hysteresis: 0, forMs: 0, sensor: 'light', key: 'value', above: 10 },
    };
    const bright = { ...day, sensors: { ...day.sensors, ...rule('light', 0).sensors } };
    await world.open([bright], fan());
    expect(await world.after({ heat: 40, light: 0 })).toBe(10);
    expect(await world.after({ heat: 40, light: 90 })).toBe(60);
    await world.bench.set('pump', 20);
    expect(await world.after({ heat: 45, light: 90 })).toBe(20);
    expect(await world.after({ heat: 45, light: 0 })).toBe(10);
  });

  it('is lost with its sensor, goes on with its value after a restart, and wishes anew after maxOn once it was off', async () => {
    await world.open([{ ...cooling, sensorLost: 90 }], fan());
    expect(await world.after({ heat: 40 })).toBe(60);
    await world.restart([{ ...cooling, sensorLost: 90 }], fan());
    expect(await world.after({ heat: 40.1 })).toBe(60);
    expect(await world.after({}, MINUTE_MS)).toBe(90);
    await world.restart([cooling], fan({ limits: { maxOnMs: 2 * MINUTE_MS } }));
    expect(await world.after({ heat: 40 }, 5 * MINUTE_MS)).toBe(0);
    expect(await world.after({ heat: 20 })).toBe(0);
    expect(await world.after({ heat: 40 })).toBe(60);
  });
});

describe('hours', () => {
  const when22to6 = { hysteresis: 0, forMs: 0, time: { from: '22:00', to: '06:00' } };
  const night: RuleInForce = { ...rule('night', true, false), when: when22to6, sensors: {} };
  const at = (time: string): void => {
    world.localTime = { time, date: '01-31', weekday: 'sat' };
  };

  it('begin and end with the minute', async () => {
    at('21:59');
    await world.open([night], pump());
    expect(await world.after({}, MINUTE_MS)).toBe(false);
    at('22:00');
    expect(await world.after({}, MINUTE_MS)).toBe(true);
    at('06:00');
    expect(await world.after({}, MINUTE_MS)).toBe(false);
  });

  it('are not known while the clock is not trusted, and are lost when it has not been for three minutes', async () => {
    await world.open([{ ...night, sensorLost: true }], pump());
    expect(await world.after({}, 2 * MINUTE_MS)).toBe(false);
    expect(slots().rules[0]?.phase).toBe('unread');
    expect(await world.after({}, 2 * MINUTE_MS)).toBe(true);
    at('12:00');
    expect(await world.after({})).toBe(false);
    world.localTime = undefined;
    expect(await world.after({}, 5 * MINUTE_MS)).toBe(true);
  });
});

describe('of two rules', () => {
  it('the first in the file wins, and leaves the output to the other', async () => {
    await world.open([rule('a', true, false), rule('b', false)], pump());
    expect(await world.after({ a: 90, b: 90 })).toBe(true);
    expect(await world.after({ a: 0, b: 90 })).toBe(false);
    expect(await world.after({ a: 90, b: 90 })).toBe(true);
  });

  it('one is the latch of the other: on below 20, off above 80', async () => {
    const fill = when(rule('fill', true), { sensor: 'level', below: 20 });
    const full = when(rule('full', false), { sensor: 'level', above: 80 });
    await world.open([fill, full], pump());
    const told: unknown[] = [];
    for (const level of [50, 10, 50, 79, 90, 50]) told.push(await world.after({ level }));
    expect(told).toEqual([false, true, true, true, false, false]);
    await world.after({ level: 10 });
    await world.after({ level: 50 });
    await world.restart([fill, full], pump());
    expect(await world.after({ level: 50 })).toBe(true);
    expect(await world.after({}, MINUTE_MS)).toBe(false);
  });
});

describe('maxOn', () => {
  it('is over two rules that still hold, until one begins anew', async () => {
    await world.open(
      [rule('a', true, false), rule('b', true, false)],
      pump({ limits: { maxOnMs: 2 * MINUTE_MS, minOffMs: MINUTE_MS } }),
    );
    await world.after({ a: 90, b: 90 });
    expect(await world.after({ a: 90, b: 90 }, 5 * MINUTE_MS)).toBe(false);
    await world.after({ a: 90, b: 0 });
    expect(await world.after({ a: 90, b: 90 })).toBe(true);
  });

  it('goes on being counted, and holds, through a kill and a reboot', async () => {
    const settings = pump({ limits: { maxOnMs: 2 * MINUTE_MS, minOffMs: 10 * MINUTE_MS } });
    await world.open([heat], settings);
    await world.after({ heat: 90 });
    await world.after({ heat: 90 }, 3 * MINUTE_MS);
    await world.kill(1_000, [heat], settings);
    expect(await world.after({ heat: 90 }, MINUTE_MS)).toBe(false);
    await world.rules.close();
    world.bench.clock.reboot({ bootId: 'boot-2' });
    await world.open([heat], settings);
    expect(await world.after({ heat: 90 }, 9 * MINUTE_MS)).toBe(false);
    expect(await world.after({ heat: 90 }, 2 * MINUTE_MS)).toBe(true);
  });
});

describe('a restart', () => {
  it.each(['restart', 'kill'] as const)('within one boot finds rules and operator as they were: %s', async (how) => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    await world.bench.set('pump', false);
    await (how === 'restart' ? world.restart([heat], pump()) : world.kill(1_000, [heat], pump()));
    expect(slots()).toMatchObject({ operator: { value: false, by: 'rpc' }, rules: [{ name: 'heat', phase: 'set' }] });
    expect(await world.after({ heat: 90 }, MINUTE_MS)).toBe(false);
    expect([await world.after({ heat: 0 }), await world.after({ heat: 90 })]).toEqual([false, true]);
  });

  it('ends an operator’s word where a safe state was set, unless a time is left', async () => {
    const settings = pump({ safe: { stop: false } });
    await world.open([], settings);
    await world.bench.set('pump', true);
    await world.restart([], settings);
    expect([slots().operator, slots().ended?.why]).toEqual([undefined, 'safe state']);
    await world.bench.control.set('pump', true, { by: 'rpc', forMs: 60 * MINUTE_MS }, new AbortController().signal);
    await world.restart([], settings);
    expect(await world.after({})).toBe(true);
  });

  it('of the board leaves nothing but base and limit', async () => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    await world.bench.set('pump', false);
    world.rules.close();
    world.bench.clock.reboot({ bootId: 'boot-2' });
    await world.open([heat], pump());
    expect(slots()).toMatchObject({ operator: undefined, base: undefined, rules: [{ phase: 'unread' }] });
    expect(await world.after({ heat: 90 })).toBe(true);
  });
});

describe('a reload', () => {
  it('empties what a removed rule said, and judges a changed one at once by the value that is known', async () => {
    await world.open([heat], pump());
    await world.after({ heat: 90 });
    world.rules.configure([heat]);
    expect(slots().rules[0]?.phase).toBe('set');
    world.rules.configure([when(heat, { above: 95 })]);
    expect(slots().rules[0]?.phase).toBe('otherwise');
    expect(await world.after({ heat: 94 })).toBe(false);
    world.rules.configure([{ ...heat, enabled: false }]);
    expect(slots().rules).toEqual([]);
    await world.after({ heat: 99 });
    expect(world.shown).toBe(false);
  });
});

it('a test pulse goes over an operator’s off and a rule’s on, and the off stands again', async () => {
  await world.open([heat], pump());
  await world.after({ heat: 90 });
  await world.bench.set('pump', false);
  void world.bench.pulse('pump', 5_000);
  await world.bench.clock.advance(1_000);
  expect(world.shown).toBe(true);
  expect(await world.after({ heat: 90 })).toBe(false);
});

it('of two motors with a gap the second goes on when the first has been off for so long, and one that is unknown counts as on', async () => {
  const gap = { neverWith: [{ with: 'reverse', gapMs: 4_000 }] };
  await world.open([heat], pump(gap), relaySettings('reverse'));
  await world.bench.clock.advance(4_000);
  await world.bench.set('reverse', true);
  expect(await world.after({ heat: 90 })).toBe(false);
  await world.bench.set('reverse', false);
  await world.bench.clock.advance(3_000);
  expect(world.shown).toBe(false);
  await world.bench.clock.advance(6_000);
  expect(world.shown).toBe(true);
});

it.each([2_000, 4_500, 7_300])('what waits for a gap of %i ms goes on as it ends', async (gapMs) => {
  await world.open([heat], pump({ neverWith: [{ with: 'reverse', gapMs }] }), relaySettings('reverse'));
  await world.bench.clock.advance(gapMs);
  await world.bench.set('reverse', true);
  expect(await world.after({ heat: 90 }, 11_000)).toBe(false);
  await world.bench.set('reverse', false);
  await world.bench.clock.advance(gapMs - 1);
  expect(world.shown).toBe(false);
  await world.bench.clock.advance(1);
  expect(world.shown).toBe(true);
});

it('what waits for its least time on or off is switched as it ends, however soon', async () => {
  await world.open([heat], pump({ limits: { minOnMs: 700, minOffMs: 1_600 } }));
  await world.after({ heat: 90 });
  world.rules.take('heat', 'value', 0);
  world.rules.take('heat', 'value', 90);
  world.rules.take('heat', 'value', 0);
  await world.bench.clock.advance(0);
  expect(world.shown).toBe(false);
  world.rules.take('heat', 'value', 90);
  await world.bench.clock.advance(1_599);
  expect(world.shown).toBe(false);
  await world.bench.clock.advance(1);
  expect(world.shown).toBe(true);
  world.rules.take('heat', 'value', 0);
  await world.bench.clock.advance(699);
  expect(world.shown).toBe(true);
  await world.bench.clock.advance(1);
  expect(world.shown).toBe(false);
});

it('hardware that does not answer is tried no sooner for a least time that is short', async () => {
  await world.open([heat], pump({ limits: { minOffMs: 100 } }));
  await world.after({ heat: 0 });
  world.isMute = true;
  let tries = 0;
  world.bench.fake('pump').beforeWrite = () => {
    tries += 1;
    throw new Error('no answer');
  };
  await world.after({ heat: 90 }, 21_000);
  expect(tries).toBeLessThan(7);
});

it('an off that is due is logged without what an on before it waited for', async () => {
  const settings = [
    pump({ neverWith: [{ with: 'reverse', gapMs: 0 }], safe: { start: false } }),
    relaySettings('reverse'),
  ];
  await world.open([heat], ...settings);
  await world.bench.set('reverse', true);
  await world.after({ heat: 90 });
  expect(world.bench.control.find('pump')?.reason.why).toMatch(/^on, because rule heat .*not yet: pump is never on/);
  world.rules.configure([]);
  expect(world.bench.follows.at(-1)).toBe('off, its state for the start');
  const low = rule('low', 30, 0);
  const dimmed = new RuleBench();
  await dimmed.open(
    [low],
    pump({ valueType: 'number', neverWith: [{ with: 'reverse', gapMs: 0 }] }),
    relaySettings('reverse'),
  );
  await dimmed.bench.set('reverse', true);
  await dimmed.after({ low: 90 });
  await dimmed.bench.set('pump', 0);
  expect(dimmed.bench.follows.at(-1)).toMatch(/^0, because the operator \(rpc\) said so 0 s ago$/);
});

it.each([0, 3_000])(
  'a rule that held before a start, and is kept from its output, is told as one that still holds (gap %i)',
  async (gapMs) => {
    const settings = [pump({ neverWith: [{ with: 'reverse', gapMs }] }), relaySettings('reverse')];
    await world.open([heat], ...settings);
    await world.bench.clock.advance(gapMs);
    await world.after({ heat: 90 });
    expect(world.events.at(-1)).toEqual({ rule: 'heat', on: true });
    await world.bench.set('pump', false);
    await world.bench.clock.advance(gapMs);
    expect(await world.bench.set('reverse', true)).toBe('moved');
    await world.bench.control.release('pump');
    await world.bench.clock.advance(100);
    const told = world.events.length;
    await world.kill(1_000, [heat], ...settings);
    await world.after({ heat: 90 });
    expect(world.events.slice(told)).toEqual([
      { rule: 'heat', on: true, isKept: true, refusal: expect.stringContaining('never on together') },
    ]);
    await world.after({ heat: 0 });
    await world.after({ heat: 90 });
    expect(world.events.at(-1)).toMatchObject({ rule: 'heat', on: true });
    expect(world.events.at(-1)).not.toMatchObject({ isKept: expect.anything() });
  },
);

it('contact that is lost under an operator’s on leaves the output to a rule, and takes the operator’s word for good', async () => {
  const settings = pump({ safe: { noContact: { afterMs: MINUTE_MS, value: false } } });
  await world.open([heat], settings);
  await world.after({ heat: 90 });
  await world.bench.set('pump', true);
  await world.after({ heat: 90 }, 2 * MINUTE_MS);
  expect([world.shown, slots().operator, slots().ended?.why]).toEqual([true, undefined, 'no contact']);
  expect(await world.after({ heat: 0 })).toBe(false);
});
