import { beforeEach, describe, expect, it } from 'vitest';
import { LocalRules } from '../../../src/actuators/local-rules.ts';
import type { RuleEvent } from '../../../src/actuators/rule-movements.ts';
import type { RuleInForce } from '../../../src/actuators/rule-state.ts';
import { STANDING_RULES_FORMAT, StandingRules } from '../../../src/actuators/standing-rules.ts';
import type { RuleConfig } from '../../../src/config/agent-config.ts';
import { AgentError } from '../../../src/errors.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let clock: FakeClock;
let sets: (readonly [string, unknown, string])[];
let events: RuleEvent[];
let refusal: Error | undefined;

const rule = (when: Partial<RuleConfig['when']>, rest: Partial<RuleConfig> = {}): RuleInForce => ({
  ...{ name: 'cooling', enabled: true, set: { actuator: 'fan', value: true }, otherwise: false, nextWithinMs: 1_000 },
  when: { sensor: 'roof', key: 'temperature', hysteresis: 0, forMs: 0, ...when },
  ...rest,
});

function start(...rules: RuleInForce[]): LocalRules {
  const actuators = {
    set: async (name: string, value: unknown, { by }: { by: string }) => {
      if (refusal !== undefined) throw refusal;
      sets.push([name, value, by]);
      return { name, value: undefined, desired: undefined, by: undefined, pulsing: false, fault: undefined };
    },
    states: () => [],
    overrulings: () => 0,
    onState: () => () => {},
  };
  const contact = { heed: () => {}, released: () => {} };
  const file = { ...STANDING_RULES_FORMAT, path: '/state/standing-rules.json', files: new MemoryFiles(), clock, log: silentLog };
  const standing = new StandingRules(new StateFile(file));
  return new LocalRules({ rules, standing, actuators, contact, clock, log: silentLog, onEvent: (event) => events.push(event) });
}

async function values(rules: LocalRules, ...temperatures: unknown[]): Promise<void> {
  for (const value of temperatures) {
    rules.take('roof', 'temperature', value as number);
    await clock.advance(1_000);
  }
}

const told = (): unknown[] => sets.map(([, value]) => value);

beforeEach(() => {
  clock = new FakeClock();
  sets = [];
  events = [];
  refusal = undefined;
});

describe('a local rule', () => {
  it('sets its actuator above the limit, and back below it less the hysteresis', async () => {
    const rules = start(rule({ above: 40, hysteresis: 2 }));
    await values(rules, 39, 40, 40.1, 50, 39, 38.1, 38, 39, 40, 41);
    expect(sets).toEqual([
      ['fan', true, 'rule'],
      ['fan', false, 'rule'],
      ['fan', true, 'rule'],
    ]);
    expect(events.map(({ on }) => on)).toEqual([true, false, true]);
  });

  it('works below and for equality, and takes words and longs for what they are', async () => {
    const frost = start(rule({ below: 5, hysteresis: 1 }));
    await values(frost, 5);
    expect(told()).toEqual([]);
    await values(frost, 4, 5.5);
    expect(told()).toEqual([true]);
    await values(frost, 6);
    expect(told()).toEqual([true, false]);
    await values(frost, 'cold', null, 7);
    expect(told()).toEqual([true, false]);
    await values(frost, 3n);
    expect(told()).toEqual([true, false, true]);
    sets = [];
    await values(start(rule({ equal: 'open' })), 'closed', 'open', 'open', true);
    expect(told()).toEqual([true, false]);
    sets = [];
    await values(start(rule({ equal: 7 })), 6, 7n, 8n, '7');
    expect(told()).toEqual([true, false]);
  });

  it('waits until the condition has held for its time without a break', async () => {
    const rules = start(rule({ above: 40, forMs: 5_000 }));
    await values(rules, 41, 41, 41, 39, 41, 41, 41, 41);
    expect(told()).toEqual([]);
    await clock.advance(1_000);
    expect(told()).toEqual([true]);
  });

  it('waits on while a value or two do not come, and anew when three in a row did not', async () => {
    const waits = rule({ above: 40, forMs: 8_000 });
    const rules = start(waits);
    await values(rules, 41);
    await clock.advance(2_000);
    await values(rules, 41, 41);
    await clock.advance(2_000);
    await values(rules, 41, 41);
    expect(told()).toEqual([true]);
    await values(rules, 39, 41, 41);
    await clock.advance(2_001);
    await values(rules, 41, 41, 41, 41, 41, 41, 41);
    expect(told()).toEqual([true, false]);
    await values(rules, 41);
    expect(told()).toEqual([true, false, true]);
    const last = start({ ...waits, name: 'last' });
    await values(last, 41, 41, 41);
    await clock.advance(60_000);
    expect(told()).toEqual([true, false, true]);
    await values(last, 41, 41, 41, 41, 41, 41, 41, 41);
    expect(told()).toEqual([true, false, true, true]);
  });

  it('waits no longer when its sensor is gone, and does not let go of what is on', async () => {
    const rules = start(rule({ above: 40, forMs: 5_000 }));
    await values(rules, 41);
    rules.sensorLost('roof');
    await clock.advance(10_000);
    expect(told()).toEqual([]);
    await values(rules, 41, 41, 41, 41, 41, 41);
    rules.sensorLost('roof');
    await clock.advance(10_000);
    expect(told()).toEqual([true]);
  });

  it('leaves the actuator alone at its end when nothing is declared for it', async () => {
    const { otherwise: _none, ...once } = rule({ above: 40 });
    const rules = start(once);
    await values(rules, 41, 39);
    expect([told(), events.length]).toEqual([[true], 2]);
  });

  it('tries again for as long as the condition holds when a gate is closed, and says so once', async () => {
    const rules = start(rule({ above: 40 }));
    refusal = new AgentError('actuators/min-off', 'in 20 s', { recovery: 'retry' });
    await values(rules, 41);
    await clock.advance(6_000);
    refusal = new AgentError('actuators/min-off', 'in 14 s', { recovery: 'retry' });
    await clock.advance(6_000);
    expect([told(), events]).toEqual([[], [{ rule: 'cooling', on: true, refusal: 'in 20 s' }]]);
    refusal = undefined;
    await clock.advance(5_000);
    expect([told(), events.at(-1)]).toEqual([[true], { rule: 'cooling', on: true }]);
    refusal = new AgentError('actuators/locked-out', 'locked', { recovery: 'hold' });
    await values(rules, 39);
    await clock.advance(5_000);
    refusal = new AgentError('actuators/interlocked', 'the other is on', { recovery: 'retry' });
    await clock.advance(10_000);
    expect(events.slice(2).map((event) => event.refusal)).toEqual(['locked', 'the other is on']);
    refusal = undefined;
    await values(rules, 42);
    await clock.advance(20_000);
    expect(told()).toEqual([true, true]);
  });

  it('says once that its actuator fails in a way that nobody named', async () => {
    const rules = start(rule({ above: 40 }));
    refusal = new Error('EIO');
    await values(rules, 41);
    await clock.advance(20_000);
    expect(events).toEqual([{ rule: 'cooling', on: true, refusal: 'EIO' }]);
  });

  it('does not try again what can never be', async () => {
    const rules = start(rule({ above: 40 }));
    refusal = new AgentError('actuators/out-of-range', 'never', { recovery: 'drop' });
    await values(rules, 41);
    refusal = undefined;
    await clock.advance(60_000);
    expect(told()).toEqual([]);
  });

  it('can be switched off and back, and moves nothing by that', async () => {
    const rules = start(rule({ above: 40, forMs: 2_000 }), rule({ above: 10 }, { name: 'off', enabled: false }));
    await values(rules, 41);
    rules.configure([rule({ above: 40, forMs: 2_000 }, { enabled: false })]);
    await values(rules, 41, 41, 41);
    expect(told()).toEqual([]);
    rules.configure([rule({ above: 40, forMs: 2_000 })]);
    await values(rules, 41, 41, 41);
    rules.configure([rule({ above: 40, forMs: 2_000 }, { enabled: false })]);
    await values(rules, 1);
    expect([told(), events.map(({ on }) => on)]).toEqual([[true], [true, false]]);
  });

  it('takes up a changed limit without forgetting what it has found out', async () => {
    const rules = start(rule({ above: 40 }), rule({ above: 10, forMs: 5_000 }, { name: 'gone' }));
    await values(rules, 41);
    rules.configure([rule({ above: 50 })]);
    await values(rules, 49, 51);
    await clock.advance(10_000);
    expect(told()).toEqual([true, false, true]);
  });

  it('is deaf to other sensors and keys, and silent once closed', async () => {
    const rules = start(rule({ above: 40, forMs: 1_000 }));
    rules.take('roof', 'humidity', 90);
    rules.take('cellar', 'temperature', 90);
    await values(rules);
    rules.take('roof', 'temperature', 90);
    await rules.close();
    await clock.advance(10_000);
    expect(told()).toEqual([]);
  });
});
