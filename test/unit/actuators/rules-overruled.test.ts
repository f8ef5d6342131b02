/** Who has the last word on an actuator: a rule, one that began later, or somebody else; over real gates, and across restarts. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings, ActuatorValue } from '../../../src/actuators/actuator.ts';
import { LocalRules } from '../../../src/actuators/local-rules.ts';
import type { RuleEvent } from '../../../src/actuators/rule-movements.ts';
import type { RuleInForce } from '../../../src/actuators/rule-state.ts';
import { STANDING_RULES_FORMAT, StandingRules } from '../../../src/actuators/standing-rules.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const FILE = '/state/rules.json';
const MINUTE_MS = 60_000;
const PERIOD_MS = 10_000;
const NEXT_WITHIN_MS = 12_000;

let bench: ActuatorBench;
let rules: LocalRules;
let events: RuleEvent[];

beforeEach(() => {
  bench = new ActuatorBench();
  events = [];
});

/** Above 10 of its own key, sets the pump. */
function rule(name: string, value: ActuatorValue, otherwise?: ActuatorValue): RuleInForce {
  const when = { sensor: name, key: 'value', above: 10, hysteresis: 0, forMs: 0 };
  const end = otherwise === undefined ? {} : { otherwise };
  return { name, enabled: true, when, set: { actuator: 'pump', value }, ...end, nextWithinMs: NEXT_WITHIN_MS };
}

const pump = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings => relaySettings('pump', changes);
const percent = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings => pump({ valueType: 'number', ...changes });

async function open(configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
  const { clock, files, log } = bench;
  const control = await bench.open(...settings);
  const standing = await StandingRules.open(
    new StateFile({ ...STANDING_RULES_FORMAT, path: FILE, files, clock, log }),
    configs.map(({ name }) => name),
  );
  rules = new LocalRules({
    ...{ rules: configs, standing, clock, log },
    ...{ actuators: control, contact: control.contact, onEvent: (event) => events.push(event) },
  });
}

async function restart(configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
  await rules.close();
  await bench.control.close();
  await open(configs, ...settings);
}

/** Each sensor gives its value every ten seconds. */
async function shown(values: Readonly<Record<string, number>>, forMs = PERIOD_MS): Promise<ActuatorValue> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= PERIOD_MS) {
    for (const [sensor, value] of Object.entries(values)) rules.take(sensor, 'value', value);
    await bench.clock.advance(Math.min(leftMs, PERIOD_MS));
  }
  return bench.fake('pump').shown;
}

const stored = (): unknown => JSON.parse(bench.files.contentOf(FILE).toString()).state.standing;

const fill = rule('fill', true, false);
const pressure = rule('pressure', false);

describe('a rule that a gate refuses for now', () => {
  const refusals: Readonly<Record<string, { settings: ActuatorSettings[]; begin: () => Promise<unknown>; end: () => Promise<unknown> }>> = {
    'a least time off': {
      settings: [pump({ limits: { minOffMs: 5 * MINUTE_MS } })],
      begin: async () => [await bench.set('pump', true), await bench.set('pump', false)],
      end: () => bench.clock.advance(5 * MINUTE_MS),
    },
    lockout: {
      settings: [pump()],
      begin: async () => Object.assign(bench, { locked: true }),
      end: async () => Object.assign(bench, { locked: false }),
    },
    'an interlock': {
      settings: [pump({ neverWith: ['drain'] }), relaySettings('drain')],
      begin: () => bench.set('drain', true),
      end: () => bench.set('drain', false),
    },
  };
  it.each(Object.entries(refusals))('loses to one that begins later, and is set when that one ends: %s', async (_gate, refusal) => {
    await open([fill, pressure], ...refusal.settings);
    await refusal.begin();
    expect(await shown({ fill: 90 })).toBe(false);
    await shown({ fill: 90, pressure: 90 });
    await refusal.end();
    expect(await shown({ fill: 90, pressure: 90 }, MINUTE_MS)).toBe(false);
    expect(await shown({ fill: 90, pressure: 0 })).toBe(true);
    expect(await shown({ fill: 0 })).toBe(false);
  });

  it('is tried on when the one that ends had been refused as well, and told once', async () => {
    await open([rule('a', true, false), rule('b', true, false)], pump({ neverWith: ['drain'] }), relaySettings('drain'));
    await bench.set('drain', true);
    await shown({ a: 90, b: 90 });
    await shown({ a: 0 }, MINUTE_MS);
    expect(events.filter((event) => event.rule === 'b')).toHaveLength(1);
    await shown({ a: 90 });
    await shown({ a: 0 });
    await bench.set('drain', false);
    expect(await shown({ b: 90 })).toBe(true);
  });

  it('is tried on when the one that began later is switched off before it could move anything', async () => {
    const [a, b] = [rule('a', true, false), rule('b', true, false)];
    await open([a, b], pump());
    bench.locked = true;
    await shown({ a: 90 });
    await shown({ a: 90, b: 90 });
    rules.configure([a, { ...b, enabled: false }]);
    bench.locked = false;
    expect(await shown({ a: 90 })).toBe(true);
  });

  it('is not tried when the one that began later has moved something before it is switched off', async () => {
    await open([fill, pressure], pump());
    bench.locked = true;
    await shown({ fill: 90 });
    await shown({ fill: 90, pressure: 90 });
    bench.locked = false;
    rules.configure([fill, { ...pressure, enabled: false }]);
    expect(await shown({ fill: 90 }, MINUTE_MS)).toBe(false);
  });

  it('is not tried over what a person says meanwhile, and tells so', async () => {
    await open([fill], pump({ limits: { minOffMs: 5 * MINUTE_MS } }));
    await bench.set('pump', true);
    await bench.set('pump', false);
    await shown({ fill: 90 }, MINUTE_MS);
    await bench.set('pump', false, { by: 'local' });
    expect(await shown({ fill: 90 }, 10 * MINUTE_MS)).toBe(false);
    expect(events.at(-1)).toEqual({ rule: 'fill', on: true, refusal: 'pump: someone else has written since' });
    await shown({ fill: 0 });
    expect(await shown({ fill: 90 })).toBe(true);
  });

  it('is done with, and told once, when a person’s word goes before what it has under way', async () => {
    await open([fill], pump({ deadlineMs: 5_000 }));
    const never = new AbortController().signal;
    bench.fake('pump').beforeWrite = (value) => (value === true ? bench.clock.sleep(2_000, never) : undefined);
    rules.take('fill', 'value', 90);
    await bench.clock.advance(1_000);
    const said = bench.set('pump', false);
    expect(await shown({ fill: 90 }, MINUTE_MS)).toBe(false);
    expect([await said, events.length]).toEqual(['moved', 1]);
  });

  it('and whose end is, does not switch off over who switches on meanwhile, nor after a restart', async () => {
    const settings = pump({ limits: { minOnMs: 5 * MINUTE_MS } });
    await open([fill], settings);
    await shown({ fill: 90 });
    await shown({ fill: 0 });
    expect(stored()).toMatchObject([{ rule: 'fill', ended: true }]);
    await bench.set('pump', true);
    expect(await shown({ fill: 0 }, 10 * MINUTE_MS)).toBe(true);
    expect(stored()).toEqual([]);
  });

  it('waits for no disk that somebody overtakes', async () => {
    await open([fill], pump());
    bench.files.faults = { delay: (operation) => (operation === 'sync' ? new Promise(() => {}) : undefined) };
    rules.take('fill', 'value', 90);
    await bench.clock.advance(500);
    await bench.set('pump', false, { by: 'local' });
    await bench.clock.advance(MINUTE_MS);
    expect(bench.fake('pump').told).not.toContain(true);
  });

  it('is tried on when its first try came after what somebody had asked for before', async () => {
    await open([rule('fill', 80, 0)], percent({ deadlineMs: MINUTE_MS }));
    let refuses = true;
    bench.fake('pump').beforeWrite = async (value) => {
      if (value === 80 && refuses) throw new Error('EIO');
      await bench.clock.sleep(2_000, new AbortController().signal);
    };
    const asked = [bench.set('pump', 30), bench.set('pump', 10)];
    await bench.clock.advance(0);
    await shown({ fill: 90 }, 9_000);
    expect([await Promise.all(asked), events]).toEqual([['moved', 'moved'], [{ rule: 'fill', on: true, refusal: 'EIO' }]]);
    refuses = false;
    expect(await shown({}, MINUTE_MS)).toBe(80);
  });
});

describe('what somebody has said since a rule began', () => {
  it.each([{}, { restore: true }, { safe: { start: false } }])('stays after a restart, until it begins anew: %j', async (changes) => {
    await open([fill], pump(changes));
    expect(await shown({ fill: 90 })).toBe(true);
    await bench.set('pump', false, { by: 'local' });
    for (let times = 0; times < 2; times += 1) {
      await restart([fill], pump(changes));
      expect(await shown({ fill: 90 }, MINUTE_MS)).toBe(false);
    }
    await shown({ fill: 0 });
    expect(await shown({ fill: 90 })).toBe(true);
    await restart([fill], pump(changes));
    expect(await shown({ fill: 90 })).toBe(true);
  });

  it('is said by the longest time on too', async () => {
    const settings = pump({ limits: { maxOnMs: MINUTE_MS } });
    await open([fill], settings);
    expect(await shown({ fill: 90 }, 2 * MINUTE_MS)).toBe(false);
    await restart([fill], settings);
    expect(await shown({ fill: 90 })).toBe(false);
  });

  it.each([[[true]], [[false, true]]])('counts as the rule’s own when it is what the rule wants in the end: %j', async (said) => {
    const settings = pump({ safe: { start: false } });
    await open([fill], settings);
    await shown({ fill: 90 });
    for (const value of said) await bench.set('pump', value);
    await restart([fill], settings);
    expect(bench.fake('pump').shown).toBe(false);
    expect(await shown({ fill: 90 })).toBe(true);
  });

  it('is not taken back by a safe state that happens to be what the rule wants', async () => {
    const settings = pump({ safe: { noContact: { afterMs: MINUTE_MS, value: true } } });
    await open([fill], settings);
    await shown({ fill: 90 });
    await bench.set('pump', false);
    expect(await shown({ fill: 90 }, 2 * MINUTE_MS)).toBe(true);
    expect(stored()).toMatchObject([{ overruled: true }]);
  });

  it('is said as well after a safe state had displaced the rule', async () => {
    await open([fill], pump({ safe: { noContact: { afterMs: MINUTE_MS, value: false } } }));
    await shown({ fill: 90 });
    expect(await shown({}, 3 * MINUTE_MS)).toBe(false);
    await bench.set('pump', false, { by: 'local' });
    expect(await shown({ fill: 90 })).toBe(false);
  });

  it('is said as well between a restart and the first value', async () => {
    await open([fill], pump());
    await shown({ fill: 90 });
    await restart([fill], pump());
    await bench.set('pump', false, { by: 'local' });
    expect(await shown({ fill: 90 })).toBe(false);
  });

  it('is no word on another actuator that the rule sets by now', async () => {
    await open([fill], pump(), relaySettings('other'));
    await shown({ fill: 90 });
    await bench.set('pump', false, { by: 'local' });
    const moved = { ...fill, set: { actuator: 'other', value: true } };
    rules.configure([moved]);
    await bench.set('other', false, { by: 'local' });
    await shown({ fill: 90 });
    expect(bench.fake('other').shown).toBe(true);
  });

  it('is left alone by the first end of two, and a rule that began after it takes its own back', async () => {
    await open([rule('a', true, false), rule('b', true, false)], pump());
    await shown({ a: 90, b: 90 });
    await bench.set('pump', false);
    await bench.set('pump', true);
    await bench.set('pump', false);
    expect(await shown({ a: 0, b: 90 })).toBe(false);
    expect(bench.control.state('pump').by).toBe('rpc');
    await shown({ a: 90, b: 90 });
    expect(await shown({ a: 90, b: 0 })).toBe(true);
  });

  it('stays when the one that wanted the same ends, and another still holds', async () => {
    await open([rule('a', 20, 0), rule('b', 40, 5)], percent());
    await shown({ a: 90 });
    await shown({ a: 90, b: 90 });
    await bench.set('pump', 40);
    expect(await shown({ a: 90, b: 0 })).toBe(40);
    expect(await shown({ a: 0 })).toBe(0);
  });

  it.each([
    ['while it is being done', async () => {}],
    ['before a restart', () => restart([rule('a', 20, 0), rule('b', 40, 5)], percent())],
  ])('is not gone over by one that ends and leaves it to another: %s', async (_when, before) => {
    await open([rule('a', 20, 0), rule('b', 40, 5)], percent());
    await shown({ a: 90, b: 90 });
    const said = bench.set('pump', 10);
    await bench.clock.advance(0);
    await said;
    await before();
    expect(await shown({ b: 0 })).toBe(10);
  });

  it.each([
    ['ends', () => rules.take('b', 'value', 0)],
    ['is taken out', () => rules.configure([rule('a', true, false)])],
  ])('is known when another rule %s while it is being done', async (_how, end) => {
    await open([rule('a', true, false), rule('b', true, false)], pump());
    await shown({ a: 90, b: 90 });
    const said = bench.set('pump', false);
    end();
    expect([await said, await shown({})]).toEqual(['moved', false]);
  });

  it('is not forgotten because a rule that began after it wanted something else for a while', async () => {
    await open([rule('a', 20, 0), rule('b', 60, 5)], percent());
    await shown({ a: 90 });
    await bench.set('pump', 10, { by: 'local' });
    expect(await shown({ a: 90, b: 90 })).toBe(60);
    expect(await shown({ a: 90, b: 0 })).toBe(5);
    expect(await shown({ a: 0, b: 0 })).toBe(0);
  });
});

describe('after a restart', () => {
  const both = [rule('a', true, false), rule('b', true, false)];

  it('the one that ends leaves it to the other, which ends when the value that it waits for does not come', async () => {
    await open(both, pump());
    await shown({ a: 90, b: 90 });
    await restart(both, pump());
    expect(await shown({ a: 0 })).toBe(true);
    expect(await shown({ a: 0 }, NEXT_WITHIN_MS - PERIOD_MS)).toBe(false);
    expect(stored()).toEqual([]);
    expect(await shown({ b: 90 })).toBe(true);
  });

  it.each([1, 2, 30])('and ends also when only %i parts of a window came first', async (parts) => {
    await open(both, pump());
    await shown({ a: 90, b: 90 });
    await restart(both, pump());
    await shown({ a: 0 });
    for (let left = parts; left > 0; left -= 1) {
      rules.take('b', 'value', undefined);
      // Three in a row say no more than none does.
      expect(await shown({ a: 0 })).toBe(parts - left < 2);
    }
    if (parts < 3) expect(await shown({ a: 0 }, NEXT_WITHIN_MS - PERIOD_MS)).toBe(false);
    expect(stored()).toEqual([]);
  });

  it('what is left to one that is seen in time stays, whatever comes then', async () => {
    await open(both, pump());
    await shown({ a: 90, b: 90 });
    await restart(both, pump());
    await shown({ a: 0, b: 90 });
    expect(await shown({}, MINUTE_MS)).toBe(true);
    expect(bench.fake('pump').told).not.toContain(false);
  });

  it('one of which nothing was seen in time holds nothing', async () => {
    await open(both, pump());
    await shown({ a: 90, b: 90 });
    await restart(both, pump());
    expect(await shown({ a: 90 }, MINUTE_MS)).toBe(true);
    expect(await shown({ a: 0 })).toBe(false);
  });

  it.each([
    ['before', { pressure: 90, fill: 90 }],
    ['after', { fill: 90, pressure: 90 }],
  ])('the one that began last wins, when its value comes %s the other’s', async (_order, values) => {
    await open([fill, pressure], pump());
    await shown({ fill: 90 });
    await shown({ fill: 90, pressure: 90 });
    await restart([fill, pressure], pump());
    bench.fake('pump').told.length = 0;
    expect(await shown(values, MINUTE_MS)).toBe(false);
    expect(bench.fake('pump').told).not.toContain(true);
    expect(await shown({ fill: 90, pressure: 0 })).toBe(true);
  });

  it('what is left to one that waits for a later one’s value does not end while it is seen', async () => {
    const configs = [rule('a', true, false), rule('b', true, false), { ...pressure, nextWithinMs: 2 * MINUTE_MS }];
    await open(configs, pump());
    await shown({ a: 90 });
    await shown({ b: 90 });
    await shown({ pressure: 90 });
    await restart(configs, pump());
    events.length = 0;
    rules.take('a', 'value', 0);
    await shown({ b: 90 }, MINUTE_MS);
    expect(events).toEqual([{ rule: 'a', on: false }]);
  });

  it('one that sets another actuator than before is one that begins', async () => {
    const [here, there] = [rule('a', true, false), { ...rule('a', true, false), set: { actuator: 'other', value: true } }];
    const settings = [pump(), relaySettings('other')];
    await open([there, pressure], ...settings);
    await shown({ a: 90, pressure: 90 });
    await restart([here, pressure], ...settings);
    expect(await shown({ a: 90 })).toBe(true);
    expect(await shown({ pressure: 90 })).toBe(true);
  });

  it('the one that began before waits for the other’s value no longer than that is due', async () => {
    await open([fill, pressure], pump());
    await shown({ fill: 90 });
    await shown({ fill: 90, pressure: 90 });
    await restart([fill, pressure], pump());
    expect(await shown({ fill: 90 })).toBe(false);
    await shown({ fill: 90 });
    expect(await shown({ fill: 90 })).toBe(true);
  });

  it('the one whose end was still owed when it began again has begun last', async () => {
    const settings = percent({ limits: { minOnMs: 10 * MINUTE_MS } });
    const configs = [rule('a', 20, 0), rule('b', 40)];
    await open(configs, settings);
    await shown({ a: 90 });
    await shown({ a: 0 });
    expect(stored()).toMatchObject([{ rule: 'a', ended: true }]);
    rules.take('b', 'value', 90);
    rules.take('a', 'value', 90);
    expect(await shown({})).toBe(20);
    await restart(configs, settings);
    expect(await shown({ a: 90, b: 90 })).toBe(20);
  });
});

it('what a rule may have set is not taken back over what somebody has said since', async () => {
  bench.files.put(FILE, 'no list');
  const hot = rule('hot', true, false);
  await open([hot], pump());
  expect(await bench.set('pump', true)).toBe('moved');
  rules.take('hot', 'value', 5);
  await bench.clock.advance(1_000);
  expect(bench.fake('pump').shown).toBe(true);
  await rules.close();
  await bench.control.close();
  bench.files.put(FILE, 'no list');
  await open([hot], pump());
  rules.take('hot', 'value', 5);
  await bench.clock.advance(1_000);
  expect(bench.fake('pump').shown).toBe(false);
});
