/** What the timeline says of each movement that no command has made, and which rules `--why` names that have no say. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings } from '../../src/actuators/kind/actuator.ts';
import type { RuleInForce } from '../../src/actuators/rule-in-force.ts';
import { actuatorTarget } from '../../src/attributes/shared-target.ts';
import { watchOutputs } from '../../src/timeline/watch-outputs.ts';
import { ruleEvent } from '../../src/timeline/words.ts';
import { pump, RuleBench, rule } from '../support/rule-bench.ts';

const never = new AbortController().signal;
let world: RuleBench;
let words: string[];
beforeEach(() => {
  world = new RuleBench();
  words = [];
});

/** From now on each sentence is kept. */
async function open(rules: readonly RuleInForce[], settings: ActuatorSettings = pump()): Promise<void> {
  await world.open(rules, settings);
  watchOutputs(
    world.bench.control,
    (event) => void words.push(event.words),
    () => ({ actuators: [] }),
  );
  world.bench.onRule = (event, instead) => void words.push(ruleEvent(event, { actuators: [], rules }, instead).words);
}

/** Says what was told since it was asked last. */
const told = (): string[] => words.splice(0);
const off = { safe: { start: false } };

describe('the timeline', () => {
  it('says that a sensor was lost, and that it is back', async () => {
    await open([rule('room', true, false)]);
    await world.after({ room: 20 });
    expect(told()).toEqual(['Rule room began: it sets pump to on.']);
    await world.bench.clock.advance(60_000);
    expect(told()).toEqual(['pump is off: rule room has lost its sensor.']);
    await world.after({ room: 20 });
    expect(told()).toEqual(['pump is on: the sensor of rule room is back.']);
  });

  it('says that a sensor was lost where the rule has a value for that', async () => {
    await open([{ ...rule('room', false, false), sensorLost: true }]);
    await world.after({ room: 20 });
    told();
    await world.bench.clock.advance(60_000);
    expect(told()).toEqual(['pump is on: rule room has lost its sensor.']);
  });

  it.each([
    [true, 'on', 'off'],
    [false, 'off', 'on'],
  ])('says that the time of a command is over (%s)', async (start, word) => {
    await open([], pump({ safe: { start } }));
    await world.bench.control.set('pump', !start, { by: 'rpc', forMs: 60_000 }, never);
    told();
    await world.bench.clock.advance(60_000);
    expect(told()).toEqual([`pump is ${word}: the time of the operator's command is over.`]);
  });

  it('says that a rule was removed, disabled or changed', async () => {
    const room = rule('room', true, false);
    await open([room], pump(off));
    await world.after({ room: 20 });
    told();
    world.rules.configure([{ ...room, set: { actuator: 'pump', value: false } }]);
    await world.bench.clock.advance(0);
    expect(told()).toEqual(['pump is off: rule room was changed.']);
    world.rules.configure([room]);
    await world.bench.clock.advance(0);
    expect(told()).toEqual(['pump is on: rule room was changed.']);
    world.rules.configure([{ ...room, enabled: false }]);
    await world.bench.clock.advance(0);
    expect(told()).toEqual([
      'Rule room ended: it was removed or disabled.',
      'pump is off: rule room was removed or disabled.',
    ]);
  });

  it('does not say that a rule moves what it does not move', async () => {
    await open([rule('room', true, false)], pump({ operatorUntil: 'release' }));
    await world.after({ room: 20 });
    await world.bench.set('pump', true);
    told();
    await world.after({ room: 5 });
    expect(told()).toEqual(['Rule room ended: pump is on, because the operator (rpc) said so 0 s ago.']);
  });

  it('says whose value is so instead, where a rule ends and another one goes on', async () => {
    await open([rule('wind', true), rule('room', false)]);
    await world.after({ wind: 20, room: 20 });
    told();
    await world.after({ wind: 5, room: 20 });
    expect(told()[0]).toMatch(/^Rule wind ended: pump is off, because rule room set it/);
  });

  it('says that a shared attribute was deleted', async () => {
    await open([], pump(off));
    const target = actuatorTarget('wish', 'pump', world.bench.control);
    await target.apply(true, never);
    told();
    await target.clear(true);
    expect(told()).toEqual(['pump is off: its shared attribute was deleted.']);
  });

  it('says that nothing keeps it any more from what it waited for', async () => {
    await open([], pump({ safe: { start: true } }));
    expect(told()).toEqual(['pump is on: written at the start, in place of off.']);
    await world.bench.set('pump', false);
    world.bench.locked = true;
    await world.bench.control.release('pump');
    expect(told()).toEqual([]);
    world.bench.locked = false;
    await world.bench.clock.advance(10_000);
    expect(told()).toEqual(['pump is on: what kept it from that is over.']);
  });

  it('says a cause once, and not of a value that the hardware takes by itself', async () => {
    await open([], pump(off));
    await world.bench.control.set('pump', false, { by: 'rpc', forMs: 60_000 }, never);
    await world.bench.clock.advance(60_000);
    world.bench.fake('pump').shown = true;
    await world.bench.control.read('pump', never);
    expect(told().filter((one) => one.includes('time of'))).toEqual([]);
  });
});

describe('the reason of an output', () => {
  const silent = () => world.bench.control.find('pump')?.reason.silent;

  it('names the rules that have no say, and why', async () => {
    const night: RuleInForce = {
      ...rule('night', true, false),
      when: { time: '22:00-06:00', hysteresis: 0, forMs: 0 } as unknown as NonNullable<RuleInForce['when']>,
      sensors: {},
    };
    const rules = [night, rule('room', true, false), rule('roof', true), { ...rule('wind', true), enabled: false }];
    await open(rules);
    await world.after({ room: 20 });
    expect(silent()).toEqual([
      { rule: 'night', why: 'the clock is not trusted' },
      { rule: 'roof', why: 'its sensor roof has no reading yet' },
      { rule: 'wind', why: 'it is disabled' },
    ]);
    await world.bench.clock.advance(24 * 60_000);
    expect(silent()).toEqual([
      { rule: 'night', why: 'the clock is not trusted' },
      { rule: 'room', why: 'its sensor room is lost' },
      { rule: 'roof', why: 'its sensor roof is lost' },
      { rule: 'wind', why: 'it is disabled' },
    ]);
  });

  it('names none where all speak, and one that maxOn has ended', async () => {
    await open([rule('room', true, false)], pump({ limits: { maxOnMs: 30_000, minOffMs: 1_000 } }));
    await world.after({ room: 20 });
    expect(silent()).toBeUndefined();
    await world.after({ room: 20 }, 40_000);
    expect(silent()).toEqual([{ rule: 'room', why: 'maxOn has ended it, until its condition begins anew' }]);
  });
});
