/** A relay behind a bus stays on while the gateway has no power: what it was in the middle of is ended when the power is back. */
import { beforeEach, describe, expect, it } from 'vitest';
import { KEPT_PULSES_FORMAT, KeptPulses } from '../../../src/actuators/kept-pulses.ts';
import type { ActuatorSettings } from '../../../src/actuators/kind/actuator.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { ActuatorBench, codeOf } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { everyDamage } from '../../support/one-bit.ts';

const FILE = '/state/pulses.json';
const AFAR = relaySettings('relay', { ownSupply: true });

let bench: ActuatorBench;
beforeEach(() => {
  bench = new ActuatorBench();
});

const kept = (): unknown => JSON.parse(bench.files.contentOf(FILE).toString()).state.actuators;

/** The power of the gateway goes, and comes back in another boot: the run folder is gone, what was not synced too; the relay is as it was. */
async function cutPower(bootId = 'boot-2'): Promise<void> {
  bench.files.cutPower(() => false);
  for (const path of bench.files.paths) if (path.startsWith('/run/')) await bench.files.unlink(path);
  bench.clock.reboot({ bootId });
}

async function inPulse(settings = AFAR): Promise<void> {
  await bench.open(settings);
  const pulsed = bench.pulse('relay', 30_000);
  await bench.clock.advance(10);
  expect(await pulsed).toBe('moved');
  expect(bench.fake('relay').shown).toBe(true);
}

describe('after a power cut in the middle of a pulse', () => {
  it.each(['can', 'cannot'])('a relay with a supply of its own that %s be asked is switched off', async (how) => {
    if (how === 'cannot') bench.deaf('relay');
    await inPulse();
    await cutPower();
    await bench.open(AFAR);
    expect(bench.fake('relay').shown).toBe(false);
    await bench.clock.advance(1_000);
    expect(kept()).toEqual([]);
  });

  it('it is known until the relay is off, through as many more cuts as come before', async () => {
    await inPulse();
    bench.fake('relay').beforeWrite = () => {
      throw new Error('no answer');
    };
    for (let cut = 0; cut < 3; cut += 1) {
      await cutPower();
      const opening = bench.open(AFAR);
      await bench.clock.advance(10_000);
      await opening;
      expect([bench.fake('relay').shown, kept()]).toEqual([true, ['relay']]);
    }
    bench.fake('relay').beforeWrite = () => {};
    await bench.clock.advance(10_000);
    expect([bench.fake('relay').shown, kept()]).toEqual([false, []]);
  });

  it('a relay that somebody had switched on for good stays on', async () => {
    await inPulse();
    expect(await bench.set('relay', true)).toBe('moved');
    await bench.clock.advance(1_000);
    await cutPower();
    await bench.open(AFAR);
    expect(bench.fake('relay').shown).toBe(true);
  });

  it('a list that cannot be understood may have named any', async () => {
    await bench.open(AFAR);
    expect(await bench.set('relay', true)).toBe('moved');
    bench.files.put(FILE, 'no list');
    await cutPower();
    await bench.open(AFAR);
    expect(bench.fake('relay').shown).toBe(false);
  });

  it('a list with any of its bits wrong names it, and what comes of it is known through as many more cuts as come', async () => {
    await inPulse();
    const whole = bench.files.contentOf(FILE).toString();
    bench.fake('relay').beforeWrite = () => {
      throw new Error('no answer');
    };
    for (const damaged of everyDamage(whole)) {
      bench.files.put(FILE, damaged);
      for (let cut = 0; cut < 2; cut += 1) {
        await cutPower();
        const opening = bench.open(AFAR);
        await bench.clock.advance(2_000);
        await opening;
        expect(kept()).toEqual(['relay']);
      }
    }
    bench.fake('relay').beforeWrite = () => {};
    await bench.clock.advance(10_000);
    expect([bench.fake('relay').shown, kept()]).toEqual([false, []]);
  });

  it('its safe state for a start goes before, and what falls with the power has no part in it', async () => {
    await inPulse(relaySettings('relay'));
    expect(bench.files.paths).not.toContain(FILE);
    bench = new ActuatorBench();
    await inPulse();
    await cutPower();
    await bench.open({ ...AFAR, safe: { start: true } });
    expect(bench.fake('relay').shown).toBe(true);
  });
});

describe('after a restart in the same boot, whose run folder has marked what is in a pulse', () => {
  const restart = async (): Promise<void> => {
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 3_000 });
    const opening = bench.open(AFAR);
    await bench.clock.advance(2_000);
    bench.files.faults = {};
    await bench.clock.advance(10_000);
    await opening;
  };

  it.each([
    ['is damaged', () => bench.files.put(FILE, 'x')],
    [
      'cannot be opened',
      () =>
        (bench.files.faults = {
          fail: (operation, path) => (operation === 'open' && path === FILE ? { code: 'EMFILE' } : undefined),
        }),
    ],
  ])('what somebody has switched on stays on where the list %s', async (_how, spoil) => {
    await inPulse();
    expect(await bench.set('relay', true)).toBe('moved');
    await bench.clock.advance(1_000);
    spoil();
    await restart();
    expect(bench.fake('relay').shown).toBe(true);
  });

  it('what somebody has switched on stays on where the disk did not take that it is no pulse any more', async () => {
    await inPulse();
    bench.files.faults = {
      fail: (operation, path) => (operation === 'write' && path.startsWith('/state') ? { code: 'ENOSPC' } : undefined),
    };
    expect(await bench.set('relay', true)).toBe('moved');
    await bench.clock.advance(1_000);
    expect(kept()).toEqual(['relay']);
    await restart();
    expect(bench.fake('relay').shown).toBe(true);
  });

  it('a pulse is ended, also where no process of this boot could end it', async () => {
    await inPulse();
    await cutPower();
    bench.fake('relay').beforeWrite = () => {
      throw new Error('no answer');
    };
    await restart();
    expect(bench.fake('relay').shown).toBe(true);
    bench.fake('relay').beforeWrite = () => {};
    await restart();
    expect([bench.fake('relay').shown, kept()]).toEqual([false, []]);
  });
});

it('a valve in a pulse is closed wherever a second cut falls after its list was damaged', async () => {
  for (const disk of ['well', 'full'])
    for (let steps = 0; ; steps += 1) {
      bench = new ActuatorBench();
      await inPulse();
      bench.files.put(FILE, 'x');
      await cutPower();
      bench.fake('relay').beforeWrite = () => {
        throw new Error('no answer');
      };
      let changes = 0;
      const isDone = (operation: string): boolean =>
        !['open', 'read', 'facts', 'list'].includes(operation) && ++changes > steps;
      bench.files.faults = {
        fail: (operation, path) =>
          path.startsWith('/state') && (isDone(operation) || (disk === 'full' && operation === 'write'))
            ? { code: 'ENOSPC' }
            : undefined,
      };
      const opening = bench.open(AFAR);
      await bench.clock.advance(20_000);
      await opening;
      bench.files.faults = {};
      await cutPower('boot-3');
      bench.fake('relay').beforeWrite = () => {};
      await bench.open(AFAR);
      await bench.clock.advance(10_000);
      expect([disk, steps, bench.fake('relay').shown]).toEqual([disk, steps, false]);
      if (changes <= steps) break;
    }
});

it('a list that cannot be read now is not replaced before something is known', async () => {
  await inPulse();
  await cutPower();
  const text = bench.files.contentOf(FILE);
  bench.files.faults = {
    fail: (operation, path) => (operation === 'open' && path === FILE ? { code: 'EMFILE' } : undefined),
  };
  bench.fake('relay').beforeWrite = () => {
    throw new Error('no answer');
  };
  const opening = bench.open(AFAR);
  await bench.clock.advance(10_000);
  await opening;
  bench.files.faults = {};
  expect([bench.files.contentOf(FILE), bench.files.paths.includes(`${FILE}.corrupt`)]).toEqual([text, false]);
});

describe('a pulse of what has a supply of its own', () => {
  it('is on the card before the relay is on, and off it after', async () => {
    await bench.open(AFAR);
    const seen: unknown[] = [];
    bench.fake('relay').beforeWrite = (value) => void seen.push([value, kept()]);
    const pulsed = bench.pulse('relay', 500);
    await bench.clock.advance(1_000);
    expect(await pulsed).toBe('moved');
    expect(seen).toEqual([
      [true, ['relay']],
      [false, ['relay']],
    ]);
    expect(kept()).toEqual([]);
  });

  it.each(['refuses', 'does not answer'])(
    'does not begin on a disk that %s, and switching off and setting go on',
    async (how) => {
      await bench.open(AFAR);
      bench.files.faults =
        how === 'refuses'
          ? {
              fail: (operation, path) =>
                operation === 'write' && path.startsWith('/state') ? { code: 'ENOSPC' } : undefined,
            }
          : { delay: (_operation, path) => (path.startsWith('/state') ? new Promise(() => {}) : undefined) };
      const pulsed = bench.pulse('relay', 500);
      await bench.clock.advance(2_000);
      expect(await pulsed).toBe('actuators/not-marked');
      expect(bench.fake('relay').told).toEqual([]);
      expect(await bench.set('relay', true)).toBe('moved');
      expect(await bench.set('relay', false)).toBe('moved');
    },
  );

  it('is ended by switching off while the disk is slow, and never begins', async () => {
    await bench.open(AFAR);
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.files.faults = { delay: (_operation, path) => (path.startsWith('/state') ? promise : undefined) };
    const pulsed = bench.pulse('relay', 500);
    await bench.clock.advance(10);
    expect(await bench.set('relay', false)).toBe('moved');
    resolve();
    await bench.clock.advance(1_000);
    expect(await pulsed).toBe('actuators/overridden');
    expect(bench.fake('relay').told).toEqual([false]);
  });
});

describe('whoever keeps what another has begun to keep', () => {
  const open = (): Promise<KeptPulses> => {
    const { files, clock, log } = bench;
    return KeptPulses.open(new StateFile({ ...KEPT_PULSES_FORMAT, path: FILE, files, clock, log }), clock, ['relay']);
  };

  it('waits for the card as that one does, and then writes it no more', async () => {
    const pulses = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.files.faults = { delay: () => promise };
    const outcomes: string[] = [];
    for (const who of ['first', 'second']) void pulses.keep('relay').then(() => outcomes.push(who));
    await bench.clock.advance(500);
    expect(outcomes).toEqual([]);
    resolve();
    await bench.clock.advance(10);
    expect([outcomes, kept()]).toEqual([['first', 'second'], ['relay']]);
    bench.files.faults = { fail: () => ({ code: 'EIO' }) };
    await pulses.keep('relay');
  });

  it('takes off no name that was on the list before, where the card does not take it', async () => {
    await (await open()).keep('relay');
    const pulses = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.files.faults = { delay: () => promise };
    for (const name of ['valve', 'relay']) {
      const keeping = codeOf(pulses.keep(name));
      await bench.clock.advance(2_000);
      expect(await keeping).toBe('actuators/not-marked');
    }
    resolve();
    await bench.clock.advance(10_000);
    expect(kept()).toEqual(['relay']);
  });

  it('is refused as that one is where the card does not take it, and nothing stays on the list', async () => {
    const pulses = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.files.faults = { delay: () => promise };
    const keeping = [codeOf(pulses.keep('relay')), codeOf(pulses.keep('relay'))];
    await bench.clock.advance(2_000);
    expect(await Promise.all(keeping)).toEqual(['actuators/not-marked', 'actuators/not-marked']);
    resolve();
    await bench.clock.advance(10_000);
    expect(kept()).toEqual([]);
  });
});

describe('what has a longest time on and a supply of its own', () => {
  const HEATER = relaySettings('heater', { ownSupply: true, restore: true, limits: { maxOnMs: 3_600_000 } });
  const shown = (): unknown => bench.fake('heater').shown;
  const heated = async (settings = HEATER): Promise<void> => {
    await bench.open(settings);
    expect(await bench.set('heater', true)).toBe('moved');
    await bench.clock.advance(1_000);
  };
  const restarted = async (settings = HEATER): Promise<void> => {
    const opening = bench.open(settings);
    await bench.clock.advance(30_000);
    await opening;
  };

  it.each(['can', 'cannot'])(
    'and %s be asked is switched off by the boot that may find it on, and not restored',
    async (how) => {
      if (how === 'cannot') bench.deaf('heater');
      await heated();
      await cutPower();
      await restarted();
      expect(shown()).toBe(false);
      await bench.control.close();
      await restarted();
      expect(shown()).toBe(false);
      expect(await bench.set('heater', true)).toBe('moved');
    },
  );

  it('is switched off as well where the run folder outlives the boot', async () => {
    await heated();
    await cutPower();
    bench.files.put('/run/outputs-looked-at', 'boot-1');
    await restarted();
    expect(shown()).toBe(false);
  });

  it('is restored where the boot finds it off', async () => {
    await heated();
    await cutPower();
    bench.fake('heater').shown = false;
    await restarted();
    expect(shown()).toBe(true);
    await bench.clock.advance(3_600_000);
    expect(shown()).toBe(false);
  });

  it.each(['finds it on', 'finds it off'])('has not been switched for any limit where the boot %s', async (how) => {
    const limits = { maxOnMs: 60_000, minOffMs: 20_000, maxSwitchesPerHour: 1 };
    const heater = relaySettings('heater', { ownSupply: true, limits });
    bench.fake('heater').shown = how === 'finds it on';
    await restarted(heater);
    expect(await bench.set('heater', true)).toBe('moved');
    await bench.set('heater', false);
    await bench.clock.advance(20_000);
    expect(await bench.set('heater', true)).toBe('actuators/too-many-switches');
  });

  it('counts from the start where a later process of the boot finds it on, and from its mark where it was left', async () => {
    await bench.open(HEATER);
    await bench.control.close();
    bench.fake('heater').shown = true;
    await restarted();
    expect(shown()).toBe(true);
    await bench.clock.advance(1_800_000);
    await restarted();
    expect(shown()).toBe(true);
    await bench.clock.advance(1_800_000);
    expect(shown()).toBe(false);
  });

  it('is no less unknown to the process after one that was killed while it looked', async () => {
    await heated();
    await cutPower();
    const { read } = bench.fake('heater');
    bench.fake('heater').read = () => new Promise(() => {});
    void bench.open({ ...HEATER, deadlineMs: 60_000 });
    await bench.clock.advance(500);
    bench.fake('heater').read = read;
    bench.clock.reboot({ bootId: 'boot-2' });
    await restarted();
    expect(shown()).toBe(false);
  });
});

it('what falls with this board, or has no longest time on, is left as a boot finds it', async () => {
  for (const changes of [{ ownSupply: false, limits: { maxOnMs: 3_600_000 } }, { ownSupply: true }]) {
    bench = new ActuatorBench();
    bench.fake('relay').shown = true;
    await bench.open(relaySettings('relay', changes));
    await bench.clock.advance(60_000);
    expect(bench.fake('relay').shown).toBe(true);
  }
});

describe('a mark that a kill has left', () => {
  let isMute: boolean;
  beforeEach(() => {
    isMute = false;
  });
  const answers = (): void => {
    if (isMute) throw new Error('no answer');
  };
  const opened = async (settings: ActuatorSettings): Promise<void> => {
    const opening = bench.open(settings);
    await bench.clock.advance(10_000);
    await opening;
  };
  const kinds = ['can', 'cannot'].flatMap((how) =>
    [false, true].flatMap((ownSupply) => [{}, { maxOnMs: 7_200_000 }].map((limits) => ({ how, ownSupply, limits }))),
  );

  it('is there until its output is off', async () => {
    const relay = relaySettings('relay');
    await inPulse(relay);
    bench.fake('relay').beforeWrite = () => {
      throw new Error('no answer');
    };
    const opening = bench.open(relay);
    await bench.clock.advance(10_000);
    await opening;
    expect(bench.marks).toEqual(['relay']);
    bench.fake('relay').beforeWrite = () => {};
    await bench.clock.advance(10_000);
    expect([bench.fake('relay').shown, bench.marks]).toEqual([false, []]);
  });

  it.each(kinds)(
    'is there until its output is off, through as many starts as come before: %o',
    async ({ how, ...changes }) => {
      const relay = relaySettings('relay', changes);
      const fake = how === 'cannot' ? bench.deaf('relay') : bench.fake('relay');
      fake.beforeWrite = answers;
      if (how === 'can')
        fake.read = async () => {
          answers();
          return fake.shown;
        };
      await opened(relay);
      void bench.pulse('relay', 30_000);
      await bench.clock.advance(10);
      expect(fake.shown).toBe(true);
      isMute = true;
      for (const ending of ['kill', 'stop', 'kill', 'stop']) {
        if (ending === 'stop') {
          const closing = bench.control.close();
          await bench.clock.advance(10_000);
          await closing;
        } else bench.clock.reboot({ bootId: 'boot-1', monotonicMs: bench.clock.monotonicMs() + 3_000 });
        await opened(relay);
        expect([fake.shown, bench.marks, bench.control.state('relay').desired]).toEqual([true, ['relay'], false]);
        expect(bench.alarms.at(-1)).toEqual(['relay', expect.stringContaining('does not switch off')]);
      }
      isMute = false;
      await bench.clock.advance(10_000);
      expect([fake.shown, bench.marks, bench.alarms.at(-1)]).toEqual([false, [], ['relay', undefined]]);
    },
  );

  const limited = { limits: { maxOnMs: 7_200_000 } };
  const endings = [
    ['a pulse', limited],
    ['a pulse', {}],
    ['a person', limited],
    ['a person', {}],
  ] as const;
  it.each(endings)('is there where the end of %s was taken and did not move it, with %o', async (who, changes) => {
    const relay = relaySettings('relay', changes);
    await (who === 'a pulse' ? inPulse(relay) : opened(relay).then(() => bench.set('relay', true)));
    const fake = bench.fake('relay');
    fake.write = async () => {};
    if (who === 'a person') expect(await bench.set('relay', false)).toBe('actuators/not-moved');
    await bench.clock.advance(40_000);
    expect([fake.shown, bench.alarms.length]).toEqual([true, 1]);
    bench.clock.reboot({ bootId: 'boot-1', monotonicMs: bench.clock.monotonicMs() + 3_000 });
    await opened(relay);
    expect(bench.alarms.length).toBe(2);
    Reflect.deleteProperty(fake, 'write');
    await bench.clock.advance(10_000);
    expect([fake.shown, bench.marks]).toEqual([false, []]);
  });

  it('lets no other pulse draw it out while nobody knows whether it is over', async () => {
    bench.deaf('relay').beforeWrite = answers;
    await inPulse(relaySettings('relay'));
    isMute = true;
    await opened(relaySettings('relay'));
    expect(await bench.pulse('relay', 30_000)).toBe('actuators/already-on');
    isMute = false;
    await bench.clock.advance(10_000);
    const next = bench.pulse('relay', 500);
    await bench.clock.advance(1_000);
    expect(await next).toBe('moved');
  });

  it('does not become that of a longest time on by being looked at, nor by an on that failed', async () => {
    const relay = relaySettings('relay', { limits: { maxOnMs: 7_200_000 } });
    await inPulse(relay);
    const fake = bench.fake('relay');
    let wasLeft = '';
    fake.beforeWrite = () => {
      wasLeft ||= bench.files.contentOf('/run/pulses/relay').toString();
      throw new Error('no answer');
    };
    await opened(relay);
    expect(wasLeft).toMatch(/"pulse":true/);
    fake.read = async () => await Promise.reject(new Error('no answer'));
    expect(await bench.set('relay', true)).toBe('no answer');
    bench.clock.reboot({ bootId: 'boot-1', monotonicMs: bench.clock.monotonicMs() + 3_000 });
    await opened(relay);
    fake.beforeWrite = () => {};
    await bench.clock.advance(10_000);
    expect(fake.shown).toBe(false);
  });

  it('becomes that of a longest time on once somebody has switched the output on', async () => {
    const relay = relaySettings('relay', { limits: { maxOnMs: 7_200_000 } });
    await inPulse(relay);
    bench.fake('relay').beforeWrite = answers;
    isMute = true;
    await opened(relay);
    isMute = false;
    expect(await bench.set('relay', true)).toBe('moved');
    bench.clock.reboot({ bootId: 'boot-1', monotonicMs: bench.clock.monotonicMs() + 3_000 });
    await opened(relay);
    expect(bench.fake('relay').shown).toBe(true);
  });
});
