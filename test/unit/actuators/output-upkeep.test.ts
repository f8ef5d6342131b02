/** Outputs that nobody moves: written again while they are in force, and asked for what somebody changes at the device. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings } from '../../../src/actuators/kind/actuator.ts';
import type { RuleWords } from '../../../src/actuators/priority-slots.ts';
import { refusal, retryable } from '../../../src/errors/agent-error.ts';
import { watchOutputs } from '../../../src/timeline/watch-outputs.ts';
import { ActuatorBench, SlowActuator } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const never = new AbortController().signal;
const EVERY_MS = 30_000;
let bench: ActuatorBench;

const setPoint = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
  relaySettings('out', { valueType: 'number', repeatEveryMs: EVERY_MS, ...changes });
const coil = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
  relaySettings('out', { repeatEveryMs: EVERY_MS, ...changes });

const told = (): readonly unknown[] => bench.fake('out').told;
const why = (): string => bench.control.find('out')?.reason.why ?? '';
const state = () => bench.control.state('out');

async function setFor(value: number | boolean, forMs?: number): Promise<void> {
  await bench.control.set('out', value, { by: 'rpc', forMs }, never);
}

beforeEach(() => {
  bench = new ActuatorBench();
  bench.fake('out').shown = 0;
});

describe('what is in force', () => {
  it('is written again every so often after the last write', async () => {
    await bench.open(setPoint());
    await setFor(40);
    await bench.clock.advance(EVERY_MS - 1);
    expect(told()).toEqual([40]);
    await bench.clock.advance(1);
    expect(told()).toEqual([40, 40]);
    await bench.clock.advance(EVERY_MS / 2);
    await setFor(50);
    await bench.clock.advance(EVERY_MS - 1);
    expect(told()).toEqual([40, 40, 50]);
    await bench.clock.advance(1 + 2 * EVERY_MS);
    expect(told()).toEqual([40, 40, 50, 50, 50, 50]);
  });

  it.each([
    ['the time of its command', async () => await setFor(40, EVERY_MS + 1_000)],
    [
      'a release',
      async () => {
        await setFor(40);
        await bench.clock.advance(EVERY_MS + 1_000);
        await bench.control.release('out');
      },
    ],
  ])('ends with %s', async (_end, act) => {
    await bench.open(setPoint());
    await act();
    await bench.clock.advance(10 * EVERY_MS);
    expect(told()).toEqual([40, 40]);
  });

  it('is no switch, no write of somebody and no change', async () => {
    bench.fake('out').shown = false;
    await bench.open(coil({ limits: { maxSwitchesPerHour: 2 } }));
    await setFor(true);
    let changes = 0;
    bench.control.onState(({ value }) => {
      if (value !== true) changes += 1;
    });
    const writes = bench.control.movements('out');
    await bench.clock.advance(20 * EVERY_MS);
    expect([told().length, changes, bench.control.movements('out') - writes]).toEqual([21, 0, 0]);
    await setFor(false);
    expect(await bench.set('out', true)).toBe('moved');
  });

  it('is never written against a closed gate, and goes on when it opens', async () => {
    await bench.open(setPoint());
    await setFor(40);
    bench.locked = true;
    await bench.clock.advance(5 * EVERY_MS);
    expect([told(), bench.alarms]).toEqual([[40], []]);
    bench.locked = false;
    await bench.clock.advance(EVERY_MS);
    expect(told()).toEqual([40, 40]);
  });

  it('is no pulse', async () => {
    bench.fake('out').shown = false;
    await bench.open(coil());
    expect(await bench.pulse('out', 50_000)).toBe('moved');
    await bench.clock.advance(49_999);
    expect(told()).toEqual([true]);
    await bench.clock.advance(1);
    expect(told()).toEqual([true, false]);
    await bench.clock.advance(5 * EVERY_MS);
    expect(told()).toEqual([true, false]);
  });

  it('ends with the agent, whose safe state is written last', async () => {
    await bench.open(setPoint({ safe: { stop: 5 } }));
    await setFor(40);
    await bench.clock.advance(EVERY_MS);
    const closing = bench.control.close();
    await bench.clock.advance(10 * EVERY_MS);
    await closing;
    expect(told()).toEqual([40, 40, 5]);
  });

  it('is tried again at its next time when the hardware refuses it', async () => {
    await bench.open(setPoint());
    await setFor(40);
    bench.fake('out').beforeWrite = () => {
      throw new Error('no answer');
    };
    bench.fake('out').read = async () => {
      throw new Error('no answer');
    };
    await bench.clock.advance(EVERY_MS + 2_000);
    expect(state()).toMatchObject({ value: undefined, fault: expect.stringMatching(/no answer/) });
    bench.fake('out').beforeWrite = () => {};
    await bench.clock.advance(EVERY_MS);
    expect([told(), state()]).toMatchObject([[40, 40], { value: 40, fault: undefined }]);
  });

  it.each([true, false])(
    'stands after a command that was refused, and is written again (readable: %s)',
    async (readable) => {
      const fake = readable ? bench.fake('out') : bench.deaf('out');
      await bench.open(setPoint());
      await setFor(40);
      fake.beforeWrite = (value) => {
        if (value === 50) throw refusal('hardware/modbus-exception', 'illegal data value');
      };
      expect(await bench.set('out', 50)).toBe('hardware/modbus-exception');
      await bench.clock.advance(0);
      expect(state().value).toBe(40);
      const before = told().length;
      await bench.clock.advance(3 * EVERY_MS);
      expect(told().slice(before)).toEqual([40, 40, 40]);
    },
  );

  it('is a rule’s again after a command that was refused', async () => {
    bench.rules = new Map([['out', [{ name: 'sun', protect: false, set: 30, version: '1' }]]]);
    await bench.open(setPoint());
    void bench.control.find('out')?.take({ kind: 'read', rule: 'sun', holds: true });
    await bench.clock.advance(0);
    bench.fake('out').beforeWrite = (value) => {
      if (value === 50) throw refusal('hardware/modbus-exception', 'illegal data value');
    };
    expect(await bench.set('out', 50)).toBe('hardware/modbus-exception');
    await bench.clock.advance(2 * EVERY_MS);
    expect(told()).toEqual([30, 30, 30]);
  });

  it('is a command without an answer, once it is known that the hardware does not show it', async () => {
    await bench.open(setPoint());
    await setFor(40);
    const fake = bench.fake('out');
    fake.beforeWrite = () => {
      throw retryable('hardware/outcome-unknown', 'no answer');
    };
    expect(await bench.set('out', 50)).toBe('actuators/outcome-unknown');
    fake.beforeWrite = () => {};
    fake.shown = 0;
    await bench.clock.advance(25_000);
    expect([told(), state().value, why()]).toEqual([[40], 0, expect.stringMatching(/^50, because the operator/)]);
    await bench.clock.advance(EVERY_MS);
    expect([told(), state().value]).toEqual([[40, 50], 50]);
  });

  it('is off without an alarm and without a hurry when the hardware is away', async () => {
    await bench.open(setPoint());
    await setFor(0);
    let tries = 0;
    bench.fake('out').read = async () => {
      throw new Error('no answer');
    };
    bench.fake('out').beforeWrite = () => {
      tries += 1;
      throw new Error('no answer');
    };
    await bench.clock.advance(4 * EVERY_MS + 1_000);
    expect([tries, bench.alarms]).toEqual([4, []]);
  });
});

it('off that an older write comes after is written again at once, also where it is repeated', async () => {
  const slow = new SlowActuator(bench.clock, { takesMs: (value) => (value === true ? 20_000 : 10) });
  bench.drivers.out = slow;
  await bench.open(coil({ repeatEveryMs: 3_600_000 }));
  const on = bench.set('out', true);
  await bench.clock.advance(1_000);
  expect(await on).toBe('actuators/deadline-passed');
  const off = bench.set('out', false);
  await bench.clock.advance(1_000);
  expect([await off, slow.shown]).toEqual(['moved', false]);
  await bench.clock.advance(19_000);
  expect([slow.told, slow.shown]).toEqual([[true, false, false], false]);
});

describe('after a start', () => {
  const rule: RuleWords = { name: 'sun', protect: false, set: 30, otherwise: 0, version: '1' };

  it.each([
    { what: 'a command with time left goes on', forMs: 3_600_000, readable: true, again: 3 },
    {
      what: 'a command with time left goes on where nothing is read back',
      forMs: 3_600_000,
      readable: false,
      again: 3,
    },
    { what: 'a command without a time does not', forMs: undefined, readable: false, again: 0 },
  ])('$what', async ({ forMs, readable, again }) => {
    if (!readable) bench.deaf('out');
    const settings = setPoint({ writtenOnce: !readable });
    await bench.open(settings);
    await setFor(40, forMs);
    await bench.clock.advance(0);
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 2_000 });
    await bench.open(settings);
    const before = told().length;
    await bench.clock.advance(3 * EVERY_MS);
    // One at the start, where it is written at all.
    expect(told().length - before).toBe(again);
  });

  it('a command without a time is written at the start and no more, where what the hardware shows is read', async () => {
    await bench.open(setPoint());
    await setFor(40);
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 2_000 });
    await bench.open(setPoint());
    const before = told().length;
    await bench.clock.advance(5 * EVERY_MS);
    expect(told().length - before).toBe(0);
  });

  it('a rule that holds goes on', async () => {
    bench.rules = new Map([['out', [rule]]]);
    await bench.open(setPoint());
    void bench.control.find('out')?.take({ kind: 'read', rule: 'sun', holds: true });
    await bench.clock.advance(2 * EVERY_MS);
    expect(told()).toEqual([30, 30, 30]);
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 2_000 });
    await bench.open(setPoint());
    const before = told().length;
    await bench.clock.advance(2 * EVERY_MS);
    expect(told().slice(before)).toEqual([30, 30]);
  });
});

describe('a change at the device', () => {
  const asked = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
    relaySettings('out', { valueType: 'number', readEveryMs: EVERY_MS, ...changes });

  it('is the state, while the wish stays and nothing is written', async () => {
    await bench.open(asked());
    await setFor(40);
    bench.fake('out').shown = 20;
    await bench.clock.advance(EVERY_MS);
    expect(state()).toMatchObject({ value: 20, desired: 40, fault: undefined, isChangedAtDevice: true });
    expect(why()).toMatch(/^40, because the operator .*; changed at the device: 20$/);
    await bench.clock.advance(10 * EVERY_MS);
    expect([told(), bench.alarms]).toEqual([[40], []]);
    await setFor(40);
    expect([told(), state().isChangedAtDevice, why()]).toMatchObject([[40, 40], undefined, /said so/]);
  });

  it('is left where off is wanted, and ends with the longest time on', async () => {
    bench.fake('out').shown = false;
    await bench.open(asked({ valueType: 'boolean', limits: { maxOnMs: 100_000 } }));
    await setFor(false);
    bench.fake('out').shown = true;
    await bench.clock.advance(EVERY_MS + 90_000);
    expect([told(), bench.alarms, state().value]).toEqual([[false], [], true]);
    await bench.clock.advance(20_000);
    expect([told(), state().value]).toEqual([[false, false], false]);
  });

  it('is written over at the next repetition', async () => {
    await bench.open(setPoint({ readEveryMs: 10_000 }));
    await setFor(40);
    bench.fake('out').shown = 20;
    await bench.clock.advance(10_000);
    expect(state().value).toBe(20);
    await bench.clock.advance(20_000);
    expect([told(), state()]).toMatchObject([[40, 40], { value: 40 }]);
  });

  it('is no change where the hardware never did what it took', async () => {
    await bench.open(asked());
    const fake = bench.fake('out');
    fake.read = async () => 7;
    await bench.set('out', 0);
    await bench.clock.advance(2 * EVERY_MS);
    expect(state()).toMatchObject({ value: 7, fault: 'shows 7, was set to 0' });
    expect(state().isChangedAtDevice).toBeUndefined();
    expect(told().length).toBeGreaterThan(10);
  });

  it('is unknown while the device is silent, and told again once it answers', async () => {
    await bench.open(asked());
    await setFor(40);
    const fake = bench.fake('out');
    const answers = fake.read;
    fake.read = async () => {
      throw new Error('no answer');
    };
    await bench.clock.advance(EVERY_MS);
    expect(state()).toMatchObject({ value: undefined, fault: 'no answer' });
    fake.read = answers;
    await bench.clock.advance(EVERY_MS);
    expect(state()).toMatchObject({ value: 40, fault: undefined });
  });
});

describe('a change at the device, and a restart', () => {
  const asked = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
    relaySettings('out', { valueType: 'number', readEveryMs: EVERY_MS, version: '1', ...changes });
  const words: string[] = [];

  /** Starts again after a kill; what was written since. */
  async function again(settings: ActuatorSettings, { isSameBoot = true } = {}): Promise<readonly unknown[]> {
    const { clock } = bench;
    await clock.advance(1_000);
    const before = told().length;
    const bootId = isSameBoot ? clock.bootId : 'another boot';
    clock.reboot({ bootId, monotonicMs: isSameBoot ? clock.monotonicMs() + 2_000 : 10_000 });
    await bench.open(settings);
    words.length = 0;
    watchOutputs(
      bench.control,
      (event) => void words.push(event.words),
      () => ({ actuators: [] }),
    );
    await clock.advance(0);
    return told().slice(before);
  }

  it.each(['seen before', 'made meanwhile'])('leaves what was %s, until the next new word', async (when) => {
    await bench.open(asked());
    await setFor(40);
    bench.fake('out').shown = 20;
    if (when === 'seen before') await bench.clock.advance(EVERY_MS);
    expect(await again(asked())).toEqual([]);
    expect(state()).toMatchObject({ value: 20, desired: 40, by: 'rpc', isChangedAtDevice: true, fault: undefined });
    expect(why()).toMatch(/^40, because the operator .*; changed at the device: 20$/);
    await bench.clock.advance(5 * EVERY_MS);
    expect(await again(asked())).toEqual([]);
    await setFor(40);
    expect([told(), state().value]).toEqual([[40, 40], 40]);
  });

  it('leaves a coil that somebody has switched off, also where a rule that holds says on', async () => {
    bench.fake('out').shown = false;
    bench.rules = new Map([['out', [{ name: 'sun', protect: false, set: true, otherwise: false, version: '1' }]]]);
    const settings = asked({ valueType: 'boolean' });
    await bench.open(settings);
    const read = async (holds: boolean): Promise<void> => {
      await bench.control.find('out')?.take({ kind: 'read', rule: 'sun', holds });
    };
    await read(true);
    bench.fake('out').shown = false;
    expect(await again(settings)).toEqual([]);
    await read(true);
    expect([told(), bench.alarms]).toEqual([[true], []]);
    await read(false);
    await read(true);
    expect(told()).toEqual([true, true]);
  });

  it('writes again by the next repetition, where there is one', async () => {
    const settings = asked({ repeatEveryMs: EVERY_MS });
    await bench.open(settings);
    await setFor(40, 3_600_000);
    bench.fake('out').shown = 20;
    expect(await again(settings)).toEqual([]);
    await bench.clock.advance(EVERY_MS);
    expect([told(), state().value]).toEqual([[40, 40], 40]);
  });

  it.each([
    { what: 'has a state for the start', changes: { safe: { start: 5 } }, said: false, isSameBoot: true, written: 5 },
    { what: 'is configured otherwise', changes: { version: '2' }, said: true, isSameBoot: true, written: 40 },
    { what: 'may have had no power', changes: {}, said: true, isSameBoot: false, written: 40 },
  ])('is written over, and told, where the output $what', async ({ changes, said, isSameBoot, written }) => {
    await bench.open(asked());
    if (said) await setFor(40, 3_600_000);
    bench.fake('out').shown = 20;
    expect(await again(asked(changes), { isSameBoot })).toEqual([written]);
    expect(words).toEqual([`out is ${written}: written at the start, in place of 20.`]);
  });

  it('is no change where the stop hook has set a state', async () => {
    const settings = asked({ safe: { crash: 5 } });
    await bench.open(settings);
    await setFor(0);
    bench.fake('out').shown = 5;
    expect(await again(settings)).toEqual([0]);
  });
});
