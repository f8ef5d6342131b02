/** Safe states and interlocks together: what is switched off goes first, and of two that exclude each other only one is ever on. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorBench, SlowActuator } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

let bench: ActuatorBench;
beforeEach(() => {
  bench = new ActuatorBench();
});

const shown = (...names: string[]): unknown[] => names.map((name) => bench.fake(name).shown);

describe('safe states for start', () => {
  it('that are on switch on only one of those that exclude each other, and say so of the others', async () => {
    const safe = { start: true };
    await bench.open(
      relaySettings('a', { safe, neverWith: [{ with: 'b', gapMs: 0 }] }),
      relaySettings('b', { safe, neverWith: [{ with: 'c', gapMs: 0 }] }),
      relaySettings('c', { safe, neverWith: [{ with: 'a', gapMs: 0 }] }),
    );
    expect(shown('a', 'b', 'c')).toEqual([true, false, false]);
    expect(bench.alarms).toEqual([
      ['b', 'b has not taken its safe state: b is never on together with a, and it is active'],
      ['c', 'c has not taken its safe state: c is never on together with a, and it is active'],
    ]);
    expect(bench.control.find('b')?.reason.why).toContain('never on together with a');
  });

  it('that are off go first, however they are ordered', async () => {
    bench.fake('pump').shown = true;
    await bench.open(
      relaySettings('drain', { safe: { start: true }, neverWith: [{ with: 'pump', gapMs: 0 }] }),
      relaySettings('pump', { safe: { start: false } }),
    );
    expect([shown('drain', 'pump'), bench.alarms]).toEqual([[true, false], []]);
  });

  it('that are restored to off go first as well', async () => {
    const pump = relaySettings('pump', { restore: true });
    await bench.open(pump);
    await bench.set('pump', false);
    bench.fake('pump').shown = true;
    await bench.open(relaySettings('drain', { safe: { start: true }, neverWith: [{ with: 'pump', gapMs: 0 }] }), pump);
    expect([shown('drain', 'pump'), bench.alarms]).toEqual([[true, false], []]);
  });

  it('that are off wait for no hardware that does not say what it shows, be it their own', async () => {
    const [far, heater, pump] = [bench.fake('far'), bench.fake('heater'), bench.fake('pump')];
    far.read = () => new Promise(() => {});
    heater.read = () => new Promise((shows) => bench.clock.after(10_000, () => shows(true)));
    heater.shown = pump.shown = true;
    const slow = { deadlineMs: 30_000 };
    const off = { safe: { start: false } };
    const opening = bench.open(
      relaySettings('far', { ...slow, safe: { start: true } }),
      relaySettings('heater', { ...slow, ...off }),
      relaySettings('pump', off),
    );
    await bench.clock.advance(0);
    expect([pump.told, heater.told, far.told]).toEqual([[false], [], []]);
    await bench.clock.advance(1_000);
    expect([heater.told, far.told]).toEqual([[false], []]);
    await bench.clock.advance(60_000);
    const control = await opening;
    expect([far.told, control.foundAtStart('pump'), control.foundAtStart('heater')]).toEqual([[true], true, undefined]);
  });

  it('that are restored to off are waited for a moment, and no longer', async () => {
    const settings = [
      relaySettings('pump', { restore: true, deadlineMs: 30_000 }),
      relaySettings('horn', { safe: { start: true } }),
    ];
    await bench.open(...settings);
    await bench.set('pump', false);
    bench.fake('pump').read = bench.fake('pump').beforeWrite = () => new Promise<never>(() => {});
    const opening = bench.open(...settings);
    await bench.clock.advance(13_000);
    expect(bench.fake('horn').told).toEqual([true]);
    await bench.clock.advance(1_000);
    await opening;
    expect(bench.fake('horn').told).toEqual([true, true]);
  });

  it('wait for what excludes them while that refuses to be switched off', async () => {
    const pump = bench.fake('pump');
    pump.shown = true;
    let refuses = true;
    pump.beforeWrite = () => {
      if (refuses) throw new Error('stuck');
    };
    await bench.open(
      relaySettings('drain', { safe: { start: true }, neverWith: [{ with: 'pump', gapMs: 0 }] }),
      relaySettings('pump', { safe: { start: false } }),
    );
    await bench.clock.advance(10_000);
    expect(shown('drain', 'pump')).toEqual([false, true]);
    refuses = false;
    await bench.clock.advance(5_000);
    expect(shown('drain', 'pump')).toEqual([true, false]);
    expect(bench.alarms.filter(([, message]) => message === undefined).map(([name]) => name)).toEqual([
      'pump',
      'drain',
    ]);
  });

  it('are set by a driver that takes longer than the start waits for it', async () => {
    const siren = new SlowActuator(bench.clock, { takesMs: () => 4_000, listens: true });
    bench.drivers.siren = siren;
    void bench.open(relaySettings('siren', { safe: { start: false }, deadlineMs: 5_000 }));
    await bench.clock.advance(4_000);
    expect([siren.told, bench.control.state('siren').value]).toEqual([[false], false]);
  });
});

describe('what is restored', () => {
  const kept = relaySettings('kept', { restore: true, safe: { start: false } });

  it('is what was wished of what is to be restored, and nothing else that is remembered', async () => {
    const settings = [kept, relaySettings('other', { limits: { minOnMs: 1_000 }, safe: { start: false } })];
    await bench.open(...settings);
    await bench.set('kept', true);
    await bench.clock.advance(100);
    await bench.set('other', true);
    await bench.clock.advance(100);
    bench.clock.reboot({ bootId: 'boot-2', monotonicMs: bench.clock.monotonicMs() });
    await bench.open(...settings);
    expect([shown('kept', 'other'), bench.control.state('kept').by]).toEqual([[true, false], 'restore']);
  });

  it('waits for a lockout to end', async () => {
    await bench.open(kept);
    await bench.set('kept', true);
    await bench.clock.advance(100);
    bench.locked = true;
    bench.clock.reboot({ bootId: 'boot-2', monotonicMs: bench.clock.monotonicMs() });
    bench.fake('kept').shown = false;
    await bench.open(kept);
    await bench.clock.advance(60_000);
    expect(shown('kept')).toEqual([false]);
    bench.locked = false;
    await bench.clock.advance(5_000);
    expect(shown('kept')).toEqual([true]);
  });

  it('is tried again while the hardware fails', async () => {
    await bench.open(kept);
    await bench.set('kept', true);
    await bench.clock.advance(100);
    bench.fake('kept').beforeWrite = (value) => {
      if (value === true) throw new Error('stuck');
    };
    bench.clock.reboot({ bootId: 'boot-2', monotonicMs: bench.clock.monotonicMs() });
    bench.fake('kept').shown = false;
    await bench.open(kept);
    expect([shown('kept'), bench.alarms]).toEqual([[false], [['kept', 'kept has not taken its safe state: stuck']]]);
    bench.fake('kept').beforeWrite = () => {};
    await bench.clock.advance(5_000);
    expect([shown('kept'), bench.alarms.at(-1)]).toEqual([[true], ['kept', undefined]]);
  });

  it('is what the hardware took, and not what was only asked for', async () => {
    await bench.open(kept);
    await bench.set('kept', true);
    await bench.set('kept', false);
    bench.fake('kept').beforeWrite = () => {
      throw new Error('stuck');
    };
    await bench.set('kept', true);
    await bench.clock.advance(100);
    bench.fake('kept').beforeWrite = () => {};
    await bench.open(kept);
    expect(shown('kept')).toEqual([false]);
  });

  it('is tried again while a gate forbids it, until someone else writes', async () => {
    const settings = [kept, relaySettings('other', { neverWith: [{ with: 'kept', gapMs: 0 }] })];
    await bench.open(...settings);
    await bench.set('kept', true);
    await bench.clock.advance(100);
    bench.fake('kept').shown = false;
    bench.fake('other').shown = true;
    await bench.open(...settings);
    bench.fake('other').shown = false;
    await bench.control.read('other', new AbortController().signal);
    await bench.clock.advance(0);
    expect(shown('kept')).toEqual([true]);
    bench.fake('other').shown = true;
    await bench.open(...settings);
    await bench.set('kept', false);
    bench.fake('other').shown = false;
    await bench.control.read('other', new AbortController().signal);
    await bench.clock.advance(60_000);
    expect(shown('kept')).toEqual([false]);
  });

  it('is not tried again when it can never be', async () => {
    const dimmer = (max: number) => relaySettings('dimmer', { valueType: 'number', restore: true, limits: { max } });
    await bench.open(dimmer(100));
    await bench.set('dimmer', 90);
    await bench.clock.advance(100);
    await bench.open(dimmer(50));
    await bench.clock.advance(60_000);
    expect([bench.fake('dimmer').told, bench.clock.pending]).toEqual([[90], 0]);
  });

  it('is not tried again once the agent stops', async () => {
    const settings = [
      relaySettings('kept', { restore: true }),
      relaySettings('other', { neverWith: [{ with: 'kept', gapMs: 0 }] }),
    ];
    await bench.open(...settings);
    await bench.set('kept', true);
    await bench.clock.advance(100);
    bench.fake('kept').shown = false;
    bench.fake('other').shown = true;
    await bench.open(...settings);
    await bench.control.close();
    bench.warnings.length = 0;
    await bench.clock.advance(60_000);
    expect([shown('kept'), bench.warnings]).toEqual([[false], []]);
  });
});

it.each([{ safe: { start: true } }, { restore: true }])(
  'a start that is held up does not switch on over a silence that came first: %o',
  async (on) => {
    const pump = relaySettings('pump', on);
    await bench.open(pump);
    await bench.set('pump', true);
    await bench.control.close();
    bench.fake('pump').told.length = 0;
    bench.fake('far').read = () => new Promise(() => {});
    const opening = bench.open(
      relaySettings('far', { deadlineMs: 30_000 }),
      relaySettings('pump', { ...on, safe: { ...on.safe, noContact: { afterMs: 8_000, value: false } } }),
    );
    await bench.clock.advance(40_000);
    await opening;
    expect([bench.fake('pump').told, bench.alarms]).toEqual([[false], []]);
  },
);

describe('a restart in a silence', () => {
  const AFTER_MS = 1_800_000;
  const silent = (value: boolean) => ({
    restore: true,
    safe: { start: true, noContact: { afterMs: AFTER_MS, value } },
  });
  const restart = async (changes: Parameters<typeof relaySettings>[1]): Promise<void> => {
    await bench.control.close();
    await bench.open(relaySettings('heater', changes));
    await bench.clock.advance(1_000);
  };

  it.each([
    ['off', true, silent(false)],
    [
      'off, and its times are remembered',
      true,
      { ...silent(false), limits: { minOnMs: 1_000, maxSwitchesPerHour: 5 } },
    ],
    ['on', false, silent(true)],
  ])(
    'does not bring back what was wished before the silence has switched it %s, and is at its base afterwards',
    async (_what, wished, changes) => {
      await bench.open(relaySettings('heater', changes));
      await bench.set('heater', wished);
      await bench.clock.advance(AFTER_MS);
      for (let times = 0; times < 3; times += 1) {
        expect(shown('heater')).toEqual([!wished]);
        await restart(changes);
      }
      bench.fake('heater').told.length = 0;
      bench.control.contact.heard();
      await restart(changes);
      expect(shown('heater')).toEqual([true]);
    },
  );

  it('brings back what somebody at the machine wishes in it', async () => {
    await bench.open(relaySettings('heater', silent(false)));
    await bench.clock.advance(AFTER_MS);
    await bench.set('heater', true, { by: 'local' });
    await restart(silent(false));
    expect(shown('heater')).toEqual([true]);
  });

  it('brings back what was wished before the silence was long enough', async () => {
    await bench.open(relaySettings('heater', silent(false)));
    await bench.set('heater', true);
    await bench.clock.advance(AFTER_MS - 1_000);
    await restart(silent(false));
    expect(shown('heater')).toEqual([true]);
  });
});

it('a restoring that a silence went before is not followed by the state for start', async () => {
  const pump = relaySettings('pump', { restore: true, deadlineMs: 60_000 });
  await bench.open(pump);
  await bench.set('pump', true);
  await bench.control.close();
  const told: unknown[] = [];
  bench.fake('pump').beforeWrite = (value) => {
    told.push(value);
    return value === true ? new Promise(() => {}) : undefined;
  };
  const opening = bench.open({ ...pump, safe: { start: true, noContact: { afterMs: 20_000, value: false } } });
  await bench.clock.advance(40_000);
  await opening;
  expect(told).toEqual([true, false]);
});

describe('the state for a stop', () => {
  it('is what is declared; else off for what does not take it yet and for what nobody would end, and nothing else', async () => {
    await bench.open(
      ...[
        relaySettings('declared', { safe: { stop: true } }),
        relaySettings('limited', { limits: { maxOnMs: 60_000 } }),
      ],
      ...[relaySettings('refusing'), relaySettings('plain'), relaySettings('pulsing')],
    );
    for (const name of ['limited', 'refusing', 'plain']) await bench.set(name, true);
    await bench.pulse('pulsing', 5_000);
    let refuses = true;
    bench.fake('refusing').beforeWrite = (value) => {
      if (value === false && refuses) throw new Error('stuck');
    };
    await bench.set('refusing', false);
    refuses = false;
    await bench.control.close();
    expect(shown('declared', 'limited', 'refusing', 'plain', 'pulsing')).toEqual([true, false, false, true, false]);
  });
});

describe('a safe state that is on', () => {
  const vent = relaySettings('vent', {
    safe: { noContact: { afterMs: 60_000, value: true } },
    neverWith: [{ with: 'heater', gapMs: 0 }],
  });

  it('waits while what excludes it is on', async () => {
    await bench.open(vent, relaySettings('heater'));
    await bench.set('heater', true, { by: 'local' });
    await bench.clock.advance(60_000);
    expect(shown('vent', 'heater')).toEqual([false, true]);
    expect(bench.alarms).toEqual([
      ['vent', 'vent has not taken its safe state: vent is never on together with heater, and it is active'],
    ]);
    await bench.set('heater', false, { by: 'local' });
    await bench.clock.advance(0);
    expect(shown('vent', 'heater')).toEqual([true, false]);
    expect(bench.alarms.at(-1)).toEqual(['vent', undefined]);
    expect(bench.control.state('vent').fault).toBeUndefined();
  });

  it('is taken once what excludes it is known to be off', async () => {
    const heater = bench.fake('heater');
    let fails = true;
    (heater as { read: unknown }).read = async () => {
      if (fails) throw new Error('CRC');
      return heater.shown;
    };
    await bench.open(vent, relaySettings('heater'));
    await bench.clock.advance(65_000);
    expect(shown('vent')).toEqual([false]);
    fails = false;
    await bench.clock.advance(12_000);
    expect(shown('vent')).toEqual([true]);
  });

  it('is left when someone else writes meanwhile', async () => {
    let fails = true;
    bench.fake('vent').beforeWrite = (value) => {
      if (fails && value === true) throw new Error('stuck');
    };
    await bench.open(vent, relaySettings('heater'));
    await bench.clock.advance(61_000);
    expect(bench.alarms).toHaveLength(1);
    await bench.set('vent', false);
    fails = false;
    await bench.clock.advance(60_000);
    expect(shown('vent')).toEqual([false]);
    expect(bench.alarms.at(-1)).toEqual(['vent', undefined]);
  });
});

it('safe states for stop switch off before they switch on', async () => {
  await bench.open(
    relaySettings('brake', { safe: { stop: true }, neverWith: [{ with: 'motor', gapMs: 0 }] }),
    relaySettings('motor', { safe: { stop: false } }),
    relaySettings('lamp', { safe: { stop: true }, neverWith: [{ with: 'horn', gapMs: 0 }] }),
    relaySettings('horn', {}),
  );
  await bench.set('motor', true);
  await bench.set('horn', true);
  await bench.control.close();
  expect(shown('brake', 'motor', 'lamp', 'horn')).toEqual([true, false, false, true]);
});

it('a restoring that a limit forbids for hours waits', async () => {
  const settings = relaySettings('compressor', {
    restore: true,
    limits: { minOffMs: 3 * 3_600_000 },
    safe: { start: false, stop: false },
  });
  await bench.open(settings);
  await bench.set('compressor', true);
  await bench.control.close();
  await bench.open(settings);
  await bench.clock.advance(2 * 3_600_000);
  expect(shown('compressor')).toEqual([false]);
  await bench.clock.advance(3_600_000 + 10_000);
  expect(shown('compressor')).toEqual([true]);
});

describe('safe states for a silence', () => {
  const silent = (value: boolean, afterMs = 300_000) => ({ safe: { noContact: { afterMs, value } } });
  const fallback = relaySettings('fallback', { neverWith: [{ with: 'main', gapMs: 0 }], ...silent(true) });

  it.each(['first', 'last'])('that are off go first, also with the one that is on %s in the file', async (place) => {
    const main = relaySettings('main', silent(false));
    await bench.open(...(place === 'first' ? [fallback, main] : [main, fallback]));
    await bench.set('main', true);
    await bench.clock.advance(305_000);
    expect([shown('main', 'fallback'), bench.alarms]).toEqual([[false, true], []]);
  });

  it('that are on come later when what excludes them is switched off by the same silence later, with an alarm until then', async () => {
    await bench.open(fallback, relaySettings('main', silent(false, 3_600_000)));
    await bench.set('main', true);
    await bench.clock.advance(3_599_000);
    expect([shown('main', 'fallback'), bench.alarms.map(([name]) => name)]).toEqual([[true, false], ['fallback']]);
    await bench.clock.advance(10_000);
    expect([shown('main', 'fallback'), bench.alarms.at(-1)]).toEqual([
      [false, true],
      ['fallback', undefined],
    ]);
  });

  it('that are on come when somebody has switched off what excludes them', async () => {
    await bench.open(fallback, relaySettings('main', silent(false, 400_000)));
    await bench.set('main', true, { by: 'local' });
    await bench.clock.advance(350_000);
    await bench.set('main', false, { by: 'local' });
    await bench.clock.advance(0);
    expect(shown('main', 'fallback')).toEqual([false, true]);
  });

  it('that are on come no sooner in the next silence', async () => {
    await bench.open(fallback, relaySettings('main', silent(false, 200_000)));
    await bench.clock.advance(250_000);
    await bench.set('main', true);
    await bench.clock.advance(100_000);
    bench.control.contact.heard();
    await bench.clock.advance(299_000);
    expect(shown('main', 'fallback')).toEqual([false, false]);
    await bench.clock.advance(10_000);
    expect(shown('main', 'fallback')).toEqual([false, true]);
  });

  it('of an attached device hear that device alone', async () => {
    await bench.open(
      relaySettings('heater', silent(false)),
      relaySettings('pump', { device: 'meter1', ...silent(false) }),
    );
    const { contact } = bench.control;
    for (const name of ['heater', 'pump']) await bench.set(name, true);
    await bench.clock.advance(200_000);
    contact.heard();
    contact.of('meter2').heard();
    await bench.clock.advance(150_000);
    expect(shown('heater', 'pump')).toEqual([true, false]);
    contact.of('meter1').heard();
    await bench.set('pump', true);
    await bench.clock.advance(200_000);
    expect(shown('heater', 'pump')).toEqual([false, true]);
  });

  describe('that are on and wait for an off that hangs', () => {
    const fan = relaySettings('fan', { deadlineMs: 10_000, ...silent(false, 60_000) });
    const heater = relaySettings('heater', silent(true, 60_000));

    async function silenceBegins(settings = heater): Promise<void> {
      await bench.open(fan, settings);
      await bench.set('fan', true);
      bench.fake('fan').beforeWrite = () => new Promise(() => {});
      await bench.clock.advance(60_500);
      expect([bench.control.state('fan').desired, bench.fake('heater').told]).toEqual([false, []]);
    }

    it('come when the wait is over', async () => {
      await silenceBegins();
      await bench.clock.advance(3_000);
      expect(bench.fake('heater').told).toEqual([true]);
    });

    it('do not come once the platform is heard, but in the next silence', async () => {
      await silenceBegins();
      bench.control.contact.heard();
      await bench.clock.advance(50_000);
      expect(bench.fake('heater').told).toEqual([]);
      bench.fake('fan').beforeWrite = () => {};
      await bench.clock.advance(13_000);
      expect(bench.fake('heater').told).toEqual([true]);
    });

    it('do not come over what somebody at the machine has said meanwhile', async () => {
      await silenceBegins();
      expect(await bench.set('heater', false, { by: 'local' })).toBe('moved');
      await bench.clock.advance(10_000);
      expect(bench.fake('heater').told).toEqual([false]);
    });

    it('come after the end of a pulse, which nobody asked for just then', async () => {
      await bench.open(fan, heater);
      await bench.set('fan', true);
      bench.fake('fan').beforeWrite = () => new Promise(() => {});
      await bench.clock.advance(58_000);
      await bench.pulse('heater', 4_000);
      await bench.clock.advance(10_000);
      expect(bench.fake('heater').told).toEqual([true, false, true]);
    });

    it.each([
      [{ stop: false }, [false]],
      [{}, []],
    ])('do not come once the agent stops, with %o', async (stop, told) => {
      await silenceBegins({ ...heater, safe: { ...heater.safe, ...stop } });
      const closing = bench.control.close();
      await bench.clock.advance(10_000);
      await closing;
      expect([bench.fake('heater').told, bench.fake('heater').closed]).toEqual([told, true]);
    });
  });
});
