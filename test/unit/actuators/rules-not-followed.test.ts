/** What a rule wants and the hardware has not done: it is tried on for as long as nobody has said otherwise. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { pump, RuleBench, rule } from '../../support/rule-bench.ts';

const MINUTE_MS = 60_000;
const frost = rule('frost', true, false);

let world: RuleBench;

beforeEach(() => {
  world = new RuleBench();
});

describe('over a relay that does not answer', () => {
  it.each([[[true]], [[false, true]], [[true, true]]])('a rule tries on when a person wants the same in the end: %j', async (said) => {
    await world.open([frost], pump());
    world.isMute = true;
    await world.after({ frost: 90 }, MINUTE_MS);
    for (const value of said) {
      expect(await world.bench.set('pump', value)).toBe('no answer');
      await world.after({ frost: 90 }, MINUTE_MS);
    }
    world.isMute = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
    expect(await world.after({ frost: 0 })).toBe(false);
  });

  it('a rule does not go over what a person wants against it', async () => {
    await world.open([frost], pump());
    world.isMute = true;
    await world.after({ frost: 90 }, MINUTE_MS);
    await world.bench.set('pump', true);
    await world.bench.set('pump', false);
    world.isMute = false;
    expect(await world.after({ frost: 90 }, 10 * MINUTE_MS)).toBe(false);
  });

  it('a rule does not go over off that a person says while an earlier rule’s off is still tried', async () => {
    await world.open([frost, rule('full', false)], pump());
    world.isMute = true;
    await world.after({ full: 90 });
    await world.after({ full: 0 });
    world.bench.locked = true;
    await world.after({ frost: 90 });
    await world.bench.set('pump', false);
    await world.after({ frost: 90 });
    Object.assign(world, { isMute: false });
    world.bench.locked = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(false);
  });

  it.each([undefined, false])('the one of two that is left tries on: otherwise %j', async (otherwise) => {
    await world.open([rule('a', true, otherwise), rule('b', true, otherwise)], pump());
    world.isMute = true;
    await world.after({ a: 90, b: 0 }, MINUTE_MS);
    await world.after({ a: 90, b: 90 }, MINUTE_MS);
    await world.after({ a: 90, b: 0 }, MINUTE_MS);
    world.isMute = false;
    expect(await world.after({ a: 90, b: 0 }, MINUTE_MS)).toBe(true);
  });

  it('the longest time on is no word against a rule that never had it on', async () => {
    const settings = pump({ limits: { maxOnMs: 10 * MINUTE_MS } });
    world.isMute = true;
    await world.open([frost], settings);
    await world.after({ frost: 90 }, 30 * MINUTE_MS);
    world.isMute = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
    expect(await world.after({ frost: 90 }, 15 * MINUTE_MS)).toBe(false);
    expect(world.stored).toMatchObject([{ overruled: true }]);
  });

  it('the longest time on ends a try that is under way, and the rule tries on', async () => {
    const fake = world.bench.fake('pump');
    const answers = fake.beforeWrite;
    fake.beforeWrite = async (value) => {
      if (world.isMute) await world.bench.clock.sleep(4_500, new AbortController().signal);
      await answers(value);
    };
    world.isMute = true;
    await world.open([frost], pump({ limits: { maxOnMs: MINUTE_MS }, deadlineMs: 5_000 }));
    await world.after({ frost: 90 }, 30 * MINUTE_MS);
    world.isMute = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS / 2)).toBe(true);
  });
});

describe('a pulse is no word against a rule', () => {
  it.each([
    ['in a lockout', () => Object.assign(world.bench, { locked: true }), () => Object.assign(world.bench, { locked: false })],
    ['over a relay that does not answer', () => Object.assign(world, { isMute: true }), () => Object.assign(world, { isMute: false })],
  ])('%s', async (_when, begin, end) => {
    await world.open([frost], pump());
    begin();
    await world.after({ frost: 90 }, MINUTE_MS);
    const never = new AbortController().signal;
    void world.bench.control.pulse('pump', { durationMs: 500, by: 'local' }, never).catch(() => {});
    await world.after({ frost: 90 });
    end();
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
  });

  it('whose end comes while the rule waits for the disk, or for its turn', async () => {
    await world.open([frost], pump());
    void world.bench.pulse('pump', 5_000);
    await world.bench.clock.advance(4_900);
    world.bench.files.faults = { delay: () => world.bench.clock.sleep(300, new AbortController().signal) };
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
  });

  it('whose end goes before what the rule has under way', async () => {
    await world.open([frost], pump({ deadlineMs: 5_000 }));
    void world.bench.pulse('pump', 5_000);
    await world.bench.clock.advance(4_000);
    world.bench.fake('pump').beforeWrite = (value) =>
      value === true ? world.bench.clock.sleep(3_000, new AbortController().signal) : undefined;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
    expect(world.bench.control.state('pump')).toMatchObject({ value: true, by: 'rule' });
  });

  it('nor for one that a person has overruled', async () => {
    await world.open([frost], pump());
    await world.after({ frost: 90 });
    await world.bench.set('pump', false);
    void world.bench.pulse('pump', 5_000);
    await world.after({ frost: 90 });
    expect(world.stored).toMatchObject([{ overruled: true }]);
    await world.restart([frost], pump());
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(false);
  });
});

describe('in a silence, what a rule holds', () => {
  const settings = pump({ safe: { noContact: { afterMs: 5 * MINUTE_MS, value: false } } });

  it.each(['rpc', 'local'] as const)('stays when somebody had said the same before: %s', async (by) => {
    await world.open([frost], settings);
    await world.after({ frost: 90 });
    await world.bench.set('pump', true, { by });
    expect(await world.after({ frost: 90 }, 20 * MINUTE_MS)).toBe(true);
    expect(await world.after({ frost: 0 }, MINUTE_MS)).toBe(false);
  });

  it('gets its safe state when the rule ends, although somebody had said the same before', async () => {
    await world.open([rule('frost', true)], settings);
    await world.after({ frost: 90 });
    await world.bench.set('pump', true);
    expect(await world.after({ frost: 90 }, 20 * MINUTE_MS)).toBe(true);
    expect(await world.after({ frost: 0 }, MINUTE_MS)).toBe(false);
  });

  it('is set again after its sensor was gone, although somebody had said the same before', async () => {
    await world.open([frost], settings);
    await world.after({ frost: 90 });
    await world.bench.set('pump', true);
    expect(await world.after({}, 20 * MINUTE_MS)).toBe(false);
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
  });

  it.each([
    ['the rule ends', { frost: 0 }],
    ['the rule sees nothing any more', {}],
  ])('stays as somebody at the machine says in it, when %s', async (_when, values) => {
    await world.open([rule('frost', true)], settings);
    await world.after({ frost: 90 }, 10 * MINUTE_MS);
    await world.bench.set('pump', true, { by: 'local' });
    expect(await world.after(values, 20 * MINUTE_MS)).toBe(true);
  });
});

describe('after a restart', () => {
  it.each(['can', 'cannot'])(
    'the longest time on of what %s be asked, ended while the agent was down, is a word against the rule',
    async (how) => {
      if (how === 'cannot') (world.bench.fake('pump') as { read: unknown }).read = undefined;
      const settings = pump({ limits: { maxOnMs: 10 * MINUTE_MS }, ownSupply: true });
      await world.open([frost], settings);
      await world.after({ frost: 90 }, 8 * MINUTE_MS);
      await world.kill(5 * MINUTE_MS, [frost], settings);
      expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(false);
      expect(world.stored).toMatchObject([{ overruled: true }]);
    },
  );

  it.each(['restart', 'kill'] as const)('that word outlives a %s before the next value of the rule’s sensor', async (how) => {
    const settings = pump({ limits: { maxOnMs: 10 * MINUTE_MS } });
    await world.open([frost], settings);
    await world.after({ frost: 90 }, 8 * MINUTE_MS);
    await world.kill(5 * MINUTE_MS, [frost], settings);
    await world.bench.clock.advance(5_000);
    expect(world.stored).toMatchObject([{ overruled: true }]);
    await (how === 'kill' ? world.kill(5_000, [frost], settings) : world.restart([frost], settings));
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(false);
  });

  it('a word is kept that hardware carried out while the agent was stopping', async () => {
    const settings = pump({ deadlineMs: 5_000 });
    await world.open([frost], settings);
    await world.after({ frost: 90 }, MINUTE_MS);
    const fake = world.bench.fake('pump');
    const { clock } = world.bench;
    fake.beforeWrite = () => clock.sleep(1_500, new AbortController().signal);
    const said = world.bench.set('pump', false);
    await clock.advance(300);
    const restarted = world.restart([frost], settings);
    await clock.advance(6_000);
    await restarted;
    fake.beforeWrite = () => {};
    expect([await said, await world.after({ frost: 90 }, MINUTE_MS)]).toEqual(['moved', false]);
  });

  it('the longest time on of what was tried in vain before is none', async () => {
    const settings = pump({ limits: { maxOnMs: 10 * MINUTE_MS } });
    world.isMute = true;
    await world.open([frost], settings);
    await world.after({ frost: 90 }, 8 * MINUTE_MS);
    await world.kill(5 * MINUTE_MS, [frost], settings);
    world.isMute = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
  });

  it('what was on for nobody knows how long when the board begins is none', async () => {
    const settings = pump({ limits: { maxOnMs: 10 * MINUTE_MS }, ownSupply: true });
    await world.open([frost], settings);
    await world.after({ frost: 90 });
    await world.rules.close();
    world.bench.clock.reboot({ bootId: 'boot-2' });
    for (const path of world.bench.files.paths) if (path.startsWith('/run/')) world.bench.files.unlinkNow(path);
    await world.open([frost], settings);
    expect(world.shown).toBe(false);
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(true);
  });

  it.each([0, 1])('a rule takes back what it had set on its actuator’s former name, %i restarts later', async (more) => {
    await world.open([frost], pump());
    await world.after({ frost: 90 });
    const coil = world.bench.fake('pump');
    world.bench.drivers.well = coil;
    const renamed = { ...frost, set: { actuator: 'well', value: true } };
    for (let times = 0; times <= more; times += 1) await world.restart([renamed], relaySettings('well'));
    expect(coil.shown).toBe(true);
    expect(await world.after({ frost: 0 })).toBe(false);
    expect(world.stored).toEqual([]);
  });

  it('a rule that sets another actuator now does not touch that at its end', async () => {
    await world.open([frost], pump(), relaySettings('well'));
    await world.after({ frost: 90 });
    world.bench.drivers.well = new FakeActuator(true);
    await world.restart([{ ...frost, set: { actuator: 'well', value: true } }], pump(), relaySettings('well'));
    expect(await world.after({ frost: 0 })).toBe(false);
    expect(world.bench.fake('well').told).toEqual([]);
  });
});
