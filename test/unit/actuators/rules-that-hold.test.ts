/** Rules that hold an actuator, over real gates: what another rule's end and the silence of the platform do to it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings, ActuatorValue } from '../../../src/actuators/actuator.ts';
import { LocalRules } from '../../../src/actuators/local-rules.ts';
import type { RuleInForce } from '../../../src/actuators/rule-state.ts';
import { STANDING_RULES_FORMAT, StandingRules } from '../../../src/actuators/standing-rules.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const SILENCE_MS = 60_000;
/** Every sensor here gives its value so often, */
const PERIOD_MS = 10_000;
/** and has given it by then. */
const NEXT_WITHIN_MS = 12_000;

let bench: ActuatorBench;
let rules: LocalRules;
let events: unknown[];

beforeEach(() => {
  bench = new ActuatorBench();
  events = [];
});

/** Above 10 of its own key, `sets` the actuator. */
function rule(
  name: string,
  sets: ActuatorValue,
  { otherwise = false, on = 'fan' }: { otherwise?: ActuatorValue; on?: string } = {},
): RuleInForce {
  const when = { sensor: name, key: 'value', above: 10, hysteresis: 0, forMs: 0 };
  return { name, enabled: true, when, set: { actuator: on, value: sets }, otherwise, nextWithinMs: NEXT_WITHIN_MS };
}

function without({ otherwise: _none, ...rest }: RuleInForce): RuleInForce {
  return rest;
}

async function open(configs: readonly RuleInForce[], ...settings: readonly ActuatorSettings[]): Promise<void> {
  const { clock, files, log } = bench;
  const control = await bench.open(...settings);
  const standing = await StandingRules.open(
    new StateFile({ ...STANDING_RULES_FORMAT, path: '/state/rules.json', files, clock, log }),
    configs.map(({ name }) => name),
  );
  rules = new LocalRules({
    ...{ rules: configs, standing, clock, log },
    ...{ actuators: control, contact: control.contact, onEvent: (event) => events.push(event) },
  });
}

async function shown(values: Readonly<Record<string, number>>, forMs = PERIOD_MS): Promise<ActuatorValue> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= PERIOD_MS) {
    for (const [sensor, value] of Object.entries(values)) rules.take(sensor, 'value', value);
    await bench.clock.advance(Math.min(leftMs, PERIOD_MS));
  }
  return bench.fake('fan').shown;
}

const percent = (name: string, changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
  relaySettings(name, { valueType: 'number', ...changes });

describe('of two rules on one actuator', () => {
  it('the one that ends leaves it on for the other, which switches it off at its own end', async () => {
    await open([rule('hot', true), rule('humid', true)], relaySettings('fan'));
    expect(await shown({ hot: 50, humid: 50 })).toBe(true);
    expect(await shown({ hot: 0, humid: 50 })).toBe(true);
    expect([bench.fake('fan').told.includes(false), events.at(-1)]).toEqual([false, { rule: 'hot', on: false }]);
    expect(await shown({ hot: 0, humid: 0 })).toBe(false);
    expect(await shown({ hot: 50, humid: 0 })).toBe(true);
  });

  it('the one that began last wins, and what still holds when it ends sets its own value again, the first first', async () => {
    await open([rule('a', 20, { otherwise: 0 }), without(rule('b', 40)), rule('c', 60)], percent('fan'));
    expect(await shown({ b: 50 })).toBe(40);
    expect(await shown({ a: 50 })).toBe(20);
    expect(await shown({ c: 50 })).toBe(60);
    expect(await shown({ c: 0 })).toBe(20);
    expect(await shown({ b: 0 })).toBe(20);
    expect(await shown({ a: 0 })).toBe(0);
  });

  it('sets nothing over what a person has written since', async () => {
    await open([rule('hot', 50), rule('humid', 80)], percent('fan'));
    await shown({ hot: 50, humid: 50 });
    await bench.set('fan', 10, { by: 'local' });
    expect(await shown({ humid: 0, hot: 50 })).toBe(10);
  });

  it('the one that is taken out leaves it to the other too', async () => {
    await open([rule('hot', true), rule('humid', true)], relaySettings('fan'));
    await shown({ hot: 50, humid: 50 });
    rules.configure([rule('humid', true)]);
    expect(await shown({ humid: 50 })).toBe(true);
    expect(bench.fake('fan').told).not.toContain(false);
  });

  it('the one whose condition is not known after a restart has it left, and sets it again at its first value', async () => {
    const configs = [rule('hot', true), rule('humid', true)];
    await open(configs, relaySettings('fan'));
    await shown({ hot: 50, humid: 50 });
    await open(configs, relaySettings('fan', { safe: { start: false } }));
    expect(await shown({ hot: 0 })).toBe(false);
    expect(await shown({ humid: 50 })).toBe(true);
    expect(await shown({ humid: 0 })).toBe(false);
  });

  it('both are tried again when a gate refused them, and one is enough', async () => {
    await open([rule('hot', true), rule('humid', true)], relaySettings('fan', { neverWith: ['heater'] }), relaySettings('heater'));
    await bench.set('heater', true);
    expect(await shown({ hot: 50, humid: 50 })).toBe(false);
    await shown({ hot: 0, humid: 50 });
    await bench.set('heater', false);
    expect(await shown({ hot: 0, humid: 50 })).toBe(true);
  });
});

describe('in a silence of the platform', () => {
  const safe = { start: false, noContact: { afterMs: SILENCE_MS, value: false } };
  const fan = relaySettings('fan', { safe });

  it('what a rule holds stays, and gets its safe state when the rule ends and leaves nothing for it', async () => {
    await open([without(rule('hot', true))], fan);
    for (let s = 0; s < 600; s += 10) expect(await shown({ hot: 50 })).toBe(true);
    expect(await shown({ hot: 0 })).toBe(false);
    expect(bench.control.state('fan').by).toBe('safe-state');
    expect(await shown({ hot: 50 }, 600_000)).toBe(true);
  });

  it('what a rule leaves for it stays', async () => {
    const settings = percent('fan', { safe: { noContact: { afterMs: SILENCE_MS, value: 0 } } });
    await open([rule('hot', 80, { otherwise: 20 })], settings);
    expect(await shown({ hot: 50 }, 600_000)).toBe(80);
    expect(await shown({ hot: 0 }, 600_000)).toBe(20);
  });

  it.each([
    ['its sensor is lost', () => rules.sensorLost('hot')],
    ['its key is left out, which nobody tells', () => rules.take('hot', 'other', 50)],
  ])('what a rule sees nothing of gets its safe state, and is set again when it sees: %s', async (_why, goes) => {
    await open([rule('hot', true)], fan);
    await shown({ hot: 50 }, 600_000);
    const leftMs = NEXT_WITHIN_MS - PERIOD_MS + SILENCE_MS;
    for (let ms = 0; ms < leftMs - 1_000; ms += 1_000) {
      goes();
      expect(await shown({}, 1_000)).toBe(true);
    }
    expect(await shown({}, 1_000)).toBe(false);
    expect(await shown({ hot: 50 })).toBe(true);
  });

  it('what a rule sees nothing of a second time gets its safe state a second time', async () => {
    await open([rule('hot', true)], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    for (let times = 0; times < 3; times += 1) {
      expect(await shown({}, 2 * SILENCE_MS)).toBe(false);
      expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
    }
  });

  it('a sensor whose values come more seldom than the time moves nothing, until one does not come', async () => {
    const nextWithinMs = 10 * SILENCE_MS;
    await open([{ ...rule('hot', true), nextWithinMs }], fan);
    for (let n = 0; n < 20; n += 1) {
      rules.take('hot', 'value', 50);
      await shown({}, nextWithinMs);
    }
    expect(bench.fake('fan').told.filter((value) => value === true)).toHaveLength(1);
    expect(await shown({}, SILENCE_MS - 1_000)).toBe(true);
    expect(await shown({}, 1_000)).toBe(false);
  });

  it('what a rule sees only a part of is held, and neither ends nor begins by it', async () => {
    await open([rule('hot', true), rule('humid', true)], fan);
    for (let n = 0; n < 3 * SILENCE_MS; n += 3 * PERIOD_MS) {
      expect(await shown({ hot: 50 })).toBe(true);
      for (const _part of [1, 2]) {
        for (const sensor of ['hot', 'humid']) rules.take(sensor, 'value', undefined);
        expect(await shown({})).toBe(true);
      }
    }
    rules.take('hot', 'value', 0);
    rules.take('humid', 'value', undefined);
    expect(await shown({})).toBe(false);
  });

  it('what a rule sees nothing of but parts gets its safe state, until it sees again', async () => {
    await open([rule('hot', true)], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    for (let atMs = 0; atMs < 3 * SILENCE_MS; atMs += PERIOD_MS) {
      rules.take('hot', 'value', undefined);
      const isHeld = atMs + PERIOD_MS < PERIOD_MS + NEXT_WITHIN_MS + SILENCE_MS;
      expect(await shown({})).toBe(isHeld);
    }
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
  });

  it('what a rule sets only after the safe state is held as well, and gets it again when the rule leaves nothing for it', async () => {
    await open([without(rule('hot', true))], fan);
    await shown({ hot: 0 }, 2 * SILENCE_MS);
    for (const forMs of [PERIOD_MS, 5 * SILENCE_MS]) {
      expect(await shown({ hot: 50 }, forMs)).toBe(true);
      expect(await shown({ hot: 0 })).toBe(false);
      expect(bench.control.state('fan').by).toBe('safe-state');
    }
  });

  it('what a rule sets again after a person in it is held again', async () => {
    await open([without(rule('hot', true))], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    await bench.set('fan', false, { by: 'local' });
    await shown({ hot: 0 }, 2 * SILENCE_MS);
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
    expect(await shown({ hot: 0 })).toBe(false);
  });

  it('what a rule gets past a gate only when it sees nothing any more does not stay', async () => {
    await open([rule('hot', true)], relaySettings('fan', { safe, neverWith: ['heater'] }), relaySettings('heater'));
    await bench.set('heater', true, { by: 'local' });
    await shown({ hot: 50 });
    await shown({}, 5 * SILENCE_MS);
    await bench.set('heater', false, { by: 'local' });
    expect(await shown({})).toBe(true);
    expect(await shown({}, SILENCE_MS)).toBe(false);
  });

  it('what a rule that sees nothing has set is not held by another that wants another value', async () => {
    const settings = percent('fan', { safe: { noContact: { afterMs: SILENCE_MS, value: 0 } } });
    await open([rule('hot', 20), rule('humid', 80)], settings);
    await shown({ hot: 50, humid: 0 });
    expect(await shown({ hot: 50, humid: 50 }, 2 * SILENCE_MS)).toBe(80);
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(20);
  });

  it('a read that fails now and then moves nothing', async () => {
    await open([rule('hot', true)], fan);
    for (let n = 0; n < 100; n += 1) {
      await shown({ hot: 50 });
      rules.sensorLost('hot');
      await shown({});
    }
    expect(bench.fake('fan').told.filter((value) => value === true)).toHaveLength(1);
    expect(bench.fake('fan').shown).toBe(true);
  });

  it('what a person has written since is no longer held, and not set again', async () => {
    await open([rule('hot', true)], relaySettings('fan', { safe: { noContact: { afterMs: SILENCE_MS, value: true } } }));
    await shown({ hot: 50 });
    await bench.set('fan', false);
    expect(await shown({ hot: 50 }, SILENCE_MS)).toBe(true);
    await bench.set('fan', false, { by: 'local' });
    expect(await shown({ hot: 50 }, 600_000)).toBe(false);
  });

  it('what gets its safe state from what a person has written is not set again by a rule that began before', async () => {
    await open([rule('hot', 80)], percent('fan', { safe: { noContact: { afterMs: SILENCE_MS, value: 10 } } }));
    expect(await shown({ hot: 50 })).toBe(80);
    await bench.set('fan', 30);
    expect(await shown({ hot: 50 }, 3 * SILENCE_MS)).toBe(10);
  });

  it('what a rule leaves to another that has seen nothing for the time gets its safe state, until that one sees', async () => {
    await open([without(rule('hot', true)), without(rule('humid', false))], fan);
    expect(await shown({ hot: 50, humid: 0 })).toBe(true);
    expect(await shown({ humid: 50 }, 3 * SILENCE_MS)).toBe(false);
    for (const forMs of [PERIOD_MS, 2 * SILENCE_MS]) expect(await shown({ humid: 0 }, forMs)).toBe(false);
    expect([bench.control.state('fan').by, bench.fake('fan').risings]).toEqual(['safe-state', 1]);
    expect(await shown({ hot: 50, humid: 0 }, 2 * SILENCE_MS)).toBe(true);
  });

  it('what somebody at the machine has taken over in it stays when the rule ends', async () => {
    await open([without(rule('hot', 80))], percent('fan', { safe: { noContact: { afterMs: SILENCE_MS, value: 0 } } }));
    await shown({ hot: 50 }, 2 * SILENCE_MS - 1_000);
    await bench.set('fan', 30, { by: 'local' });
    expect(await shown({ hot: 0 }, 2 * SILENCE_MS)).toBe(30);
  });

  it('what an interlock keeps a rule from setting is not held, and set when it may be', async () => {
    await open([rule('hot', true)], relaySettings('fan', { safe, neverWith: ['heater'] }), relaySettings('heater'));
    await bench.set('heater', true, { by: 'local' });
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(false);
    await bench.set('heater', false, { by: 'local' });
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
  });

  it('stays so after a restart and after a reload', async () => {
    await open([rule('hot', true)], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    // The clock still has the timers of the process before.
    bench.control.contact.close();
    await open([rule('hot', true)], fan);
    expect(bench.fake('fan').shown).toBe(false);
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
    const changed = { ...without(rule('hot', true)), when: { ...rule('hot', true).when, above: 20 } };
    rules.configure([changed]);
    expect(await shown({ hot: 50 }, 2 * SILENCE_MS)).toBe(true);
    expect(await shown({ hot: 0 })).toBe(false);
  });

  it('a reload is no value of what a rule watches', async () => {
    await open([rule('hot', true)], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    expect(await shown({}, SILENCE_MS)).toBe(true);
    rules.configure([{ ...rule('hot', true), when: { ...rule('hot', true).when, above: 20 } }]);
    expect(await shown({}, NEXT_WITHIN_MS - PERIOD_MS)).toBe(false);
  });

  it('a rule that is taken out without a word for its actuator leaves it to the safe state', async () => {
    await open([without(rule('hot', true))], fan);
    await shown({ hot: 50 }, 2 * SILENCE_MS);
    rules.configure([]);
    await bench.clock.advance(0);
    expect(bench.fake('fan').shown).toBe(false);
  });
});
