/** What a rule has set is taken back, whatever is restarted, killed or changed in between. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LocalRules } from '../../../src/actuators/local-rules.ts';
import type { RuleEvent } from '../../../src/actuators/rule-movements.ts';
import type { RuleInForce } from '../../../src/actuators/rule-state.ts';
import { STANDING_RULES_FORMAT, StandingRules } from '../../../src/actuators/standing-rules.ts';
import type { RuleConfig } from '../../../src/config/agent-config.ts';
import { AgentError } from '../../../src/errors.ts';
import type { JsonValue } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const FILE = '/state/standing-rules.json';

let clock: FakeClock;
let files: MemoryFiles;
let outputs: Record<string, unknown>;
let events: RuleEvent[];
let refusal: Error | undefined;
let rules: LocalRules;

beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  outputs = {};
  events = [];
  refusal = undefined;
});

type Over = Omit<Partial<RuleInForce>, 'when'> & { readonly when?: Partial<RuleConfig['when']>; readonly on?: string };

function hot({ when, on = 'pump', ...rest }: Over = {}): RuleInForce {
  const usual = { name: 'r', enabled: true, set: { actuator: on, value: true }, otherwise: false, nextWithinMs: 1_000 };
  return { ...usual, when: { sensor: 'a', key: 't', above: 30, hysteresis: 1, forMs: 0, ...when }, ...rest };
}

/** Sets nothing at its end. */
function onceHot(over: Over = {}): RuleInForce {
  const { otherwise: _none, ...once } = hot(over);
  return once;
}

const NOTHING_SAID = { value: undefined, desired: undefined, by: undefined, pulsing: false, fault: undefined } as const;

async function start(...configs: RuleInForce[]): Promise<void> {
  const actuators = {
    set: async (name: string, value: unknown) => {
      if (refusal !== undefined) throw refusal;
      outputs[name] = value;
      return { ...NOTHING_SAID, name };
    },
    states: () => ['pump', 'heater'].map((name) => ({ ...NOTHING_SAID, name })),
    overrulings: () => 0,
    onState: () => () => {},
  };
  const contact = { heed: () => {}, released: () => {} };
  const standing = await StandingRules.open(
    new StateFile({ ...STANDING_RULES_FORMAT, path: FILE, files, clock, log: silentLog }),
    configs.map(({ name }) => name),
  );
  rules = new LocalRules({ rules: configs, standing, actuators, contact, clock, log: silentLog, onEvent: (event) => events.push(event) });
  await clock.advance(0);
}

async function values(...shown: JsonValue[]): Promise<void> {
  for (const value of shown) {
    rules.take('a', 't', value);
    await clock.advance(1_000);
  }
}

/** The power goes: what is not on the disk is lost. */
async function restart(...configs: RuleInForce[]): Promise<void> {
  void rules.close();
  files.cutPower(() => false);
  outputs = {};
  await start(...configs);
}

const stored = (): unknown => (files.paths.includes(FILE) ? JSON.parse(files.contentOf(FILE).toString()).state.standing : []);

describe('what a rule owes at its end', () => {
  it('is tried again after a fault of which nobody knows what it means', async () => {
    await start(hot());
    await values(50);
    refusal = new Error('EIO');
    await values(10);
    expect(stored()).toMatchObject([{ rule: 'r', ended: true }]);
    refusal = undefined;
    await clock.advance(5_000);
    expect([outputs, stored()]).toEqual([{ pump: false }, []]);
  });

  it('is forgotten when the rule begins again, and what it holds then is not', async () => {
    await start(hot());
    await values(50);
    refusal = new Error('EIO');
    await values(10);
    refusal = undefined;
    await values(50);
    expect(stored()).toMatchObject([{ rule: 'r', ended: false }]);
    await restart(hot());
    await values(10);
    expect(outputs).toEqual({ pump: false });
  });
});

describe('a rule of which a damaged file may have told that it stands', () => {
  /** The name of a rule in the file is another one now. */
  function damage(): void {
    const text = files.contentOf(FILE).toString();
    expect(text).toContain('"rule":"r"');
    files.put(FILE, text.replace('"rule":"r"', '"rule":"s"'));
  }

  it('is taken back at the first value that does not hold, in whichever process that comes, and once', async () => {
    await start(hot());
    await values(50);
    damage();
    for (let kill = 0; kill < 3; kill += 1) {
      await restart(hot());
      expect(outputs).toEqual({});
    }
    await values(10);
    expect([outputs, stored()]).toEqual([{ pump: false }, []]);
    await restart(hot());
    await values(10);
    expect(outputs).toEqual({});
  });

  it('is known again where the file can be read at the next start', async () => {
    await start(hot());
    await values(50);
    await rules.close();
    const kept = files.contentOf(FILE);
    files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
    const starting = start(hot());
    await clock.advance(2_000);
    await starting;
    files.faults = {};
    await clock.advance(60_000);
    expect(files.contentOf(FILE)).toEqual(kept);
  });

  it('is not taken back once a value has shown that it holds', async () => {
    await start(hot(), hot({ name: 'other', on: 'heater' }));
    await values(50);
    damage();
    await restart(hot(), hot({ name: 'gone', on: 'heater' }));
    await values(50);
    expect(outputs).toEqual({ pump: true, heater: true });
    await restart(onceHot());
    await values(10);
    outputs = {};
    await restart(hot());
    await values(10);
    expect([outputs, stored()]).toEqual([{}, []]);
  });
});

describe('a rule that was on before a restart', () => {
  it('is not written to the card again by a configuration that leaves it as it is', async () => {
    await start(hot());
    await values(50);
    const written = files.changes.length;
    rules.configure([hot()]);
    await clock.advance(1_000);
    expect(files.changes.length).toBe(written);
    rules.configure([hot({ otherwise: true })]);
    await clock.advance(1_000);
    expect(stored()).toMatchObject([{ otherwise: true }]);
  });

  it('is as it was when it was taken out while the agent stopped and is there again at the next start', async () => {
    await start(hot());
    await values(50);
    await rules.close();
    rules.configure([]);
    await clock.advance(1_000);
    expect(stored()).toMatchObject([{ rule: 'r', ended: false }]);
    await restart(hot());
    expect(outputs).toEqual({});
  });

  it('sets what is to be otherwise at the first value at which its condition has ended', async () => {
    await start(hot());
    await values(50);
    await restart(hot());
    expect(outputs).toEqual({});
    await values(10);
    expect([outputs, events.at(-1)]).toEqual([{ pump: false }, { rule: 'r', on: false }]);
    expect(stored()).toEqual([]);
    await restart(hot());
    await values(10, 10);
    expect(outputs).toEqual({});
  });

  it('sets its actuator once more while its condition holds, and comes back with the hysteresis', async () => {
    const slow = hot({ nextWithinMs: 60_000, when: { hysteresis: 10, forMs: 60_000 } });
    await start(slow);
    await values(50);
    await clock.advance(60_000);
    await restart(slow);
    await values(25);
    expect(outputs).toEqual({ pump: true });
    outputs = {};
    await values(25);
    expect(outputs).toEqual({});
    await values(20);
    expect(outputs).toEqual({ pump: false });
  });

  it('is none of another rule’s business', async () => {
    const other = hot({ name: 'other', on: 'horn', when: { above: 20, forMs: 60_000 } });
    await start(hot());
    await values(50);
    await restart(hot(), other);
    await values(50);
    expect(outputs).toEqual({ pump: true });
  });

  it('is taken back at once when it is gone, or watches something else', async () => {
    for (const after of [[], [hot({ when: { sensor: 'b' } })], [hot({ when: { key: 'u' } })]]) {
      await start(hot());
      await values(50);
      await restart(...after);
      expect(outputs).toEqual({ pump: false });
      expect(stored()).toEqual([]);
    }
  });

  it('is taken back from the actuator that it set then, and sets the other while its condition holds', async () => {
    await start(hot());
    await values(50);
    await restart(hot({ on: 'heater' }));
    expect(outputs).toEqual({ pump: false });
    await values(29.5);
    expect(outputs).toEqual({ pump: false, heater: true });
    await values(10);
    expect(outputs).toEqual({ pump: false, heater: false });
  });

  it('does not touch an actuator that it never set', async () => {
    await start(hot());
    await values(50);
    await restart(hot({ on: 'heater' }));
    await values(10);
    expect(outputs).toEqual({ pump: false });
  });

  it('moves nothing when it was switched off meanwhile, and is forgotten', async () => {
    await start(hot());
    await values(50);
    await restart(hot({ enabled: false }));
    await values(10);
    expect([outputs, stored(), events.at(-1)]).toEqual([{}, [], { rule: 'r', on: false }]);
  });

  it('is told to be over when there is nothing to set at its end', async () => {
    await start(onceHot());
    await values(50);
    await restart(onceHot());
    await values(10);
    expect([outputs, stored(), events.at(-1)]).toEqual([{}, [], { rule: 'r', on: false }]);
  });

  it('is not taken back when it never was on', async () => {
    await start(hot({ when: { forMs: 60_000 } }));
    await values(50);
    await restart(hot({ when: { forMs: 60_000 } }));
    await values(10);
    expect([outputs, events]).toEqual([{}, []]);
  });

  it('waits a second at most for a disk that hangs', async () => {
    await start(hot());
    files.faults = { delay: (operation) => (operation === 'sync' ? new Promise(() => {}) : undefined) };
    rules.take('a', 't', 50);
    await clock.advance(900);
    expect(outputs).toEqual({});
    await clock.advance(100);
    expect(outputs).toEqual({ pump: true });
  });

  it('is remembered before its actuator is set', async () => {
    let notedFirst: unknown;
    await start(hot());
    files.faults = {
      delay: (operation) => {
        if (operation === 'sync') notedFirst = outputs.pump === undefined;
        return undefined;
      },
    };
    await values(50);
    expect([outputs, notedFirst]).toEqual([{ pump: true }, true]);
  });

  it('does not set its actuator when it has ended while the disk was waited for', async () => {
    await start(hot());
    files.faults = { delay: (operation) => (operation === 'sync' ? new Promise(() => {}) : undefined) };
    rules.take('a', 't', 50);
    rules.take('a', 't', 10);
    await clock.advance(5_000);
    expect([outputs, events]).toEqual([{ pump: false }, [{ rule: 'r', on: false }]]);
  });

  it('still owes its end after a restart when a gate had refused it', async () => {
    await start(hot({ when: { hysteresis: 10 } }));
    await values(50);
    refusal = new AgentError('actuators/min-on', 'in 20 s', { recovery: 'retry' });
    await values(10);
    await restart(hot({ when: { hysteresis: 10 } }));
    await values(25);
    refusal = undefined;
    await clock.advance(5_000);
    expect([outputs, stored()]).toEqual([{ pump: false }, []]);
  });

  it('owes nothing to an actuator that is gone', async () => {
    await start(hot());
    await values(50);
    refusal = new AgentError('actuators/unknown', 'there is no actuator pump', { recovery: 'drop' });
    await restart();
    expect([stored(), events.at(-1)]).toEqual([[], { rule: 'r', on: false, refusal: 'there is no actuator pump' }]);
  });

  it('is taken back at the first value at which it does not hold, when nobody can tell any more whether it was on', async () => {
    files.put(FILE, 'torn');
    await start(hot(), onceHot({ name: 'once', on: 'horn' }), hot({ name: 'cold', on: 'heater', when: { above: 20 } }));
    expect(outputs).toEqual({});
    await values(25);
    expect(outputs).toEqual({ pump: false, heater: true });
    outputs = {};
    await values(25);
    expect(outputs).toEqual({});
  });

  it('begins anew from a file that says nothing of use', async () => {
    const entry = { rule: 'r', sensor: 'a', key: 't', actuator: 'pump', otherwise: { x: 1 } };
    const standing = [null, { ...entry, rule: 1 }, { ...entry, sensor: 1 }, { ...entry, key: 1 }, { ...entry, actuator: 1 }, entry];
    await start(hot());
    await values(50);
    files.put(FILE, JSON.stringify({ ...STANDING_RULES_FORMAT, state: { standing } }));
    await rules.close();
    await start();
    expect([outputs, events.filter(({ on }) => !on).length]).toEqual([{ pump: true }, 1]);
  });
});

describe('a reload while a rule is on', () => {
  beforeEach(async () => {
    await start(hot());
    await values(50);
  });

  it('takes the output back when the rule is taken out, and what was refused is tried again', async () => {
    refusal = new AgentError('actuators/min-on', 'in 20 s', { recovery: 'retry' });
    rules.configure([]);
    await clock.advance(6_000);
    expect([outputs, events.slice(1)]).toEqual([{ pump: true }, [{ rule: 'r', on: false, refusal: 'in 20 s' }]]);
    refusal = undefined;
    await clock.advance(5_000);
    expect([outputs, events.at(-1), stored()]).toEqual([{ pump: false }, { rule: 'r', on: false }, []]);
  });

  it('moves the rule from one actuator to another', async () => {
    rules.configure([hot({ on: 'heater' })]);
    await values(51);
    expect(outputs).toEqual({ pump: false, heater: true });
    await values(20);
    expect(outputs).toEqual({ pump: false, heater: false });
  });

  it('sets another value at the next value of the sensor', async () => {
    rules.configure([hot({ set: { actuator: 'pump', value: 60 } })]);
    await values(51);
    expect(outputs).toEqual({ pump: 60 });
  });

  it('takes up what is to be otherwise, for its end and for the next start', async () => {
    rules.configure([hot({ otherwise: 5 })]);
    await clock.advance(0);
    expect([outputs, stored()]).toMatchObject([{ pump: true }, [{ otherwise: 5 }]]);
    await values(10);
    expect(outputs).toEqual({ pump: 5 });
  });

  it('takes the output back when the rule watches another sensor or key, and begins anew there', async () => {
    rules.configure([hot({ when: { sensor: 'b' } })]);
    await values(50);
    expect(outputs).toEqual({ pump: false });
    rules.take('b', 't', 31);
    await clock.advance(0);
    expect(outputs).toEqual({ pump: true });
    rules.configure([hot({ when: { sensor: 'b', key: 'u' } })]);
    await clock.advance(0);
    expect(outputs).toEqual({ pump: false });
  });

  it('lets the rule under its new name have the actuator, whatever is still owed under the old one', async () => {
    refusal = new AgentError('actuators/min-on', 'in 20 s', { recovery: 'retry' });
    rules.configure([hot({ name: 'new' })]);
    await clock.advance(0);
    refusal = undefined;
    outputs = {};
    await values(50);
    await clock.advance(20_000);
    expect(outputs).toEqual({ pump: true });
    expect(stored()).toMatchObject([{ rule: 'new' }]);
  });

  it('goes on taking back what it has left, while it sets something else', async () => {
    refusal = new AgentError('actuators/min-on', 'in 20 s', { recovery: 'retry' });
    rules.configure([hot({ on: 'heater' })]);
    await clock.advance(1_000);
    await values(50);
    expect(outputs).toEqual({ pump: true });
    refusal = undefined;
    await clock.advance(6_000);
    expect(outputs).toEqual({ pump: false, heater: true });
  });

  it('leaves other rules of the same actuator to what they want', async () => {
    await values(10);
    const second = hot({ name: 'second', set: { actuator: 'pump', value: 70 } });
    rules.configure([hot(), second]);
    refusal = new AgentError('actuators/locked-out', 'locked', { recovery: 'hold' });
    await values(50);
    rules.configure([hot({ enabled: false }), second]);
    refusal = undefined;
    outputs = {};
    await clock.advance(6_000);
    expect(outputs).toEqual({ pump: 70 });
    refusal = new AgentError('actuators/min-on', 'in 20 s', { recovery: 'retry' });
    rules.configure([]);
    await clock.advance(1_000);
    expect(stored()).toMatchObject([{ rule: 'second', ended: true }]);
  });

  it('goes on without a movement when nothing of the rule has changed', async () => {
    outputs = {};
    rules.configure([hot(), hot({ name: 'other', when: { above: 90 } })]);
    await values(50);
    expect([outputs, events.length]).toEqual([{}, 1]);
  });

  it('no longer tries what the rule wanted before', async () => {
    await values(10);
    refusal = new AgentError('actuators/locked-out', 'locked', { recovery: 'hold' });
    await values(50);
    rules.configure([hot({ set: { actuator: 'pump', value: 60 } })]);
    refusal = undefined;
    outputs = {};
    await clock.advance(20_000);
    expect(outputs).toEqual({});
    rules.configure([hot({ enabled: false })]);
    await clock.advance(20_000);
    expect(outputs).toEqual({});
  });
});

describe('a reload while a rule waits', () => {
  const waiting = (forMs: number, when: Partial<RuleConfig['when']> = {}): RuleInForce =>
    hot({ nextWithinMs: 60_000, when: { forMs, ...when } });
  const minutes = async (count: number, value: JsonValue): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      rules.take('a', 't', value);
      await clock.advance(60_000);
    }
  };

  it('counts another time anew', async () => {
    await start(waiting(600_000));
    await values(50);
    rules.configure([waiting(3_600_000)]);
    await minutes(59, 50);
    expect(outputs).toEqual({});
    await minutes(2, 50);
    expect(outputs).toEqual({ pump: true });
  });

  it('goes on waiting when nothing of the rule has changed', async () => {
    await start(waiting(600_000));
    await minutes(5, 50);
    rules.configure([waiting(600_000)]);
    await minutes(5, 50);
    expect(outputs).toEqual({ pump: true });
  });

  it('never fires from what another sensor, key or limit was judged by', async () => {
    for (const when of [{ sensor: 'b' }, { key: 'u' }, { above: 60 }]) {
      await start(waiting(600_000));
      await values(50);
      rules.configure([waiting(600_000, when)]);
      await minutes(11, 10);
      rules.configure([]);
      await minutes(11, 50);
      expect(outputs).toEqual({});
    }
  });

  it('never fires from what is waited for by a rule that is gone', async () => {
    await start(waiting(600_000));
    await values(50);
    rules.configure([]);
    await clock.advance(3_600_000);
    expect(outputs).toEqual({});
  });
});
