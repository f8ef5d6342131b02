/** What is known of a pin, and what follows from not knowing: nothing stays on, nothing excluded goes on. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorBench, SlowActuator } from '../../support/actuator-bench.ts';
import type { FakeActuator } from '../../support/fake-actuator.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
let bench: ActuatorBench;

beforeEach(() => {
  bench = new ActuatorBench();
});

const busy = (actuator: FakeActuator, value?: boolean): void => {
  actuator.beforeWrite = (told) => {
    if (value === undefined || told === value) throw new Error('bus busy');
  };
};
const well = (actuator: FakeActuator): void => {
  actuator.beforeWrite = () => {};
};

describe('an actuator that does not switch off', () => {
  it('is tried again until it does, with one alarm and one line in the log', async () => {
    const heater = bench.deaf('heater');
    await bench.open(relaySettings('heater'));
    await bench.set('heater', true);
    let tries = 0;
    heater.beforeWrite = () => {
      tries += 1;
      throw new Error('bus busy');
    };
    expect(await bench.set('heater', false)).toBe('bus busy');
    // 100, 200, 400 … ms after one another, then every 2 s.
    await bench.clock.advance(3_100);
    expect(tries).toBe(6);
    await bench.clock.advance(6 * HOUR_MS);
    expect(tries).toBe(6 + (6 * HOUR_MS) / 2_000);
    expect(bench.alarms).toEqual([['heater', 'heater does not switch off: bus busy']]);
    expect(bench.warnings.length).toBe(1);
    well(heater);
    await bench.clock.advance(5_000);
    expect(heater.shown).toBe(false);
    expect(bench.alarms.slice(1)).toEqual([['heater', undefined]]);
    const told = heater.told.length;
    await bench.clock.advance(HOUR_MS);
    expect(heater.told.length).toBe(told);
  });

  it('lets none that it excludes go on meanwhile', async () => {
    const up = bench.deaf('up');
    await bench.open(relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }] }), relaySettings('down'));
    await bench.set('up', true);
    busy(up);
    await bench.set('up', false);
    expect(await bench.set('down', true)).toBe('actuators/interlocked');
    well(up);
    await bench.clock.advance(5_000);
    expect(await bench.set('down', true)).toBe('moved');
  });

  it('is left to whoever switches it on again', async () => {
    const heater = bench.fake('heater');
    await bench.open(relaySettings('heater'));
    await bench.set('heater', true);
    busy(heater, false);
    await bench.set('heater', false);
    expect(await bench.set('heater', true, { by: 'local' })).toBe('moved');
    well(heater);
    await bench.clock.advance(MINUTE_MS);
    expect(heater.shown).toBe(true);
    expect(bench.alarms.at(-1)).toEqual(['heater', undefined]);
  });

  it('counts as someone’s write once, however often it is tried', async () => {
    const heater = bench.fake('heater');
    await bench.open(relaySettings('heater'));
    await bench.set('heater', true);
    busy(heater, false);
    await bench.set('heater', false);
    const writes = bench.control.movements('heater');
    await bench.clock.advance(MINUTE_MS);
    expect(bench.control.movements('heater')).toBe(writes);
  });

  it('is tried once more at the stop, and its mark is left when it still refuses', async () => {
    const valve = bench.fake('valve');
    await bench.open(relaySettings('valve'));
    await bench.pulse('valve', 5_000);
    busy(valve, false);
    await bench.clock.advance(10_000);
    await bench.control.close();
    expect([valve.shown, bench.marks]).toEqual([true, ['valve']]);
    well(valve);
    await bench.open(relaySettings('valve'));
    await bench.clock.advance(10);
    expect([valve.shown, bench.marks]).toEqual([false, []]);
  });
});

describe('switching off', () => {
  it('waits for no movement under way, and for none that waits', async () => {
    const valve = new SlowActuator(bench.clock, { takesMs: (value) => (value === true ? 30_000 : 0), listens: true });
    bench.drivers.valve = valve;
    await bench.open(relaySettings('valve', { deadlineMs: 60_000 }));
    const on = [bench.set('valve', true), bench.set('valve', true)];
    await bench.clock.advance(100);
    const off = bench.set('valve', false);
    await bench.clock.advance(0);
    expect(valve.told).toEqual([true, false]);
    expect(await Promise.all([...on, off])).toEqual(['actuators/overridden', 'actuators/overridden', 'moved']);
    await bench.clock.advance(MINUTE_MS);
    expect([valve.told, valve.shown]).toEqual([[true, false], false]);
  });

  it('is not held up by asking for it again and again', async () => {
    const valve = new SlowActuator(bench.clock, { takesMs: () => 400, listens: true });
    bench.drivers.valve = valve;
    await bench.open(relaySettings('valve'));
    const on = bench.set('valve', true);
    await bench.clock.advance(500);
    await on;
    for (let times = 0; times < 4; times += 1) {
      void bench.set('valve', false);
      await bench.clock.advance(100);
    }
    expect([valve.told, valve.shown]).toEqual([[true, false], false]);
  });

  it('goes on when whoever asked has gone', async () => {
    const valve = new SlowActuator(bench.clock, { takesMs: () => 400, listens: true });
    bench.drivers.valve = valve;
    await bench.open(relaySettings('valve'));
    const on = bench.set('valve', true);
    await bench.clock.advance(500);
    await on;
    const caller = new AbortController();
    void bench.set('valve', false, { signal: caller.signal });
    await bench.clock.advance(100);
    caller.abort();
    await bench.clock.advance(300);
    expect([valve.told, valve.shown]).toEqual([[true, false], false]);
  });

  it('passes lockout and a run folder that is stuck', async () => {
    await bench.open(relaySettings('heater', { limits: { maxOnMs: MINUTE_MS } }));
    await bench.set('heater', true);
    bench.locked = true;
    bench.files.faults = { delay: () => new Promise(() => {}) };
    expect(await bench.set('heater', false)).toBe('moved');
    expect(bench.fake('heater').shown).toBe(false);
  });

  it('is not undone by a write that comes late', async () => {
    const valve = new SlowActuator(bench.clock, { takesMs: (value) => (value === true ? 900 : 0) });
    bench.drivers.valve = valve;
    await bench.open(
      relaySettings('valve', { neverWith: [{ with: 'drain', gapMs: 0 }], safe: { start: false } }),
      relaySettings('drain'),
    );
    await bench.clock.advance(10);
    const on = bench.set('valve', true);
    await bench.clock.advance(100);
    const off = bench.set('valve', false);
    await bench.clock.advance(300);
    expect([await on, await off]).toEqual(['actuators/overridden', 'moved']);
    // The hardware still has the first one.
    expect(await bench.set('drain', true)).toBe('actuators/interlocked');
    await bench.clock.advance(500);
    expect(valve.shown).toBe(true);
    expect(await bench.set('drain', true)).toBe('actuators/interlocked');
    await bench.clock.advance(2_000);
    expect(valve.shown).toBe(false);
    expect(await bench.set('drain', true)).toBe('moved');
  });
});

describe('a movement that nobody waits for any longer', () => {
  it('may have moved although it fails late: it is looked at, switched off again, and excludes others until then', async () => {
    let shown = false;
    let moves = 0;
    bench.drivers.up = {
      write: (value) =>
        new Promise((resolve, reject) => {
          moves += 1;
          const isFirst = moves === 1;
          bench.clock.after(isFirst ? 8_000 : 5, () => {
            shown = value === true;
            if (isFirst) reject(new Error('the answer was broken'));
            else resolve();
          });
        }),
      read: async () => shown,
      close: async () => {},
    };
    await bench.open(relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }] }), relaySettings('down'));
    const on = bench.set('up', true);
    await bench.clock.advance(1_500);
    const off = bench.set('up', false);
    await bench.clock.advance(1_500);
    expect([await on, await off, shown]).toEqual(['actuators/deadline-passed', 'moved', false]);
    await bench.clock.advance(5_000);
    expect([shown, await bench.set('down', true)]).toEqual([true, 'actuators/interlocked']);
    await bench.clock.advance(1_000);
    expect([shown, bench.control.state('up').value, await bench.set('down', true)]).toEqual([false, false, 'moved']);
    expect(bench.alarms.at(-1)).toEqual(['up', undefined]);
  });

  it('leaves the state unknown, and what it excludes off', async () => {
    const up = new SlowActuator(bench.clock, { takesMs: (value) => (value === true ? 900 : 0) });
    bench.drivers.up = up;
    const down = bench.deaf('down');
    await bench.open(
      relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }], deadlineMs: 500 }),
      relaySettings('down', { safe: { start: false } }),
    );
    const off = bench.set('up', false);
    await bench.clock.advance(900);
    await off;
    await bench.control.release('up');
    const on = bench.set('up', true);
    await bench.clock.advance(510);
    expect(await on).toBe('actuators/deadline-passed');
    expect(bench.control.state('up').value).toBeUndefined();
    expect(await bench.set('down', true)).toBe('actuators/interlocked');
    await bench.clock.advance(1_000);
    expect([up.shown, bench.control.state('up').value]).toEqual([true, true]);
    expect(await bench.set('down', true)).toBe('actuators/interlocked');
    expect(down.told).toEqual([false]);
  });

  it('moves nothing when its turn had not come', async () => {
    const up = new SlowActuator(bench.clock, { takesMs: () => 900 });
    bench.drivers.up = up;
    await bench.open(relaySettings('up'), relaySettings('other'));
    const first = bench.set('up', true);
    const caller = new AbortController();
    const second = bench.set('up', true, { signal: caller.signal });
    await bench.clock.advance(500);
    caller.abort();
    await bench.clock.advance(1_000);
    expect([await first, await second]).toEqual(['moved', 'actuators/given-up']);
    expect(up.told).toEqual([true]);
  });

  it('is forgotten by a driver that never ends after a minute, and the hardware asked', async () => {
    const up = bench.fake('up');
    await bench.open(
      relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }], deadlineMs: 500 }),
      relaySettings('down'),
    );
    up.beforeWrite = (value) => (value === true ? new Promise(() => {}) : undefined);
    const on = bench.set('up', true);
    await bench.clock.advance(500);
    expect(await on).toBe('actuators/deadline-passed');
    expect(await bench.set('down', true)).toBe('actuators/interlocked');
    await bench.clock.advance(MINUTE_MS);
    expect(await bench.set('down', true)).toBe('moved');
  });

  it('has its switch checked again when its turn comes', async () => {
    const fan = new SlowActuator(bench.clock, { takesMs: () => 900 });
    bench.drivers.fan = fan;
    await bench.open(relaySettings('fan', { valueType: 'number', limits: { min: 0, max: 100 } }));
    const first = bench.set('fan', 30);
    const second = bench.set('fan', 60);
    await bench.clock.advance(100);
    bench.locked = true;
    await bench.clock.advance(2_000);
    expect([await first, await second]).toEqual(['moved', 'actuators/locked-out']);
    expect(fan.told).toEqual([30]);
  });
});

describe('hardware that could not be asked', () => {
  it('is asked again by itself, and counts as on until it answers', async () => {
    const up = bench.fake('up');
    let fails = true;
    (up as { read: unknown }).read = async () => {
      if (fails) throw new Error('CRC');
      return up.shown;
    };
    await bench.open(relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }] }), relaySettings('down'));
    expect(bench.control.state('up')).toMatchObject({ value: undefined, fault: 'CRC' });
    expect(await bench.set('down', true)).toBe('actuators/interlocked');
    fails = false;
    await bench.clock.advance(10_000);
    expect(bench.control.state('up')).toMatchObject({ value: false, fault: undefined });
    expect(await bench.set('down', true)).toBe('moved');
  });

  it('says nothing of it when it is the caller who gave up', async () => {
    await bench.open(relaySettings('up'));
    const caller = new AbortController();
    caller.abort();
    await bench.control.read('up', caller.signal);
    expect(bench.control.state('up')).toMatchObject({ value: false, fault: undefined });
  });
});

describe('the longest time on', () => {
  const settings = relaySettings('heater', { limits: { maxOnMs: MINUTE_MS } });

  it('ends also when switching off failed before', async () => {
    const heater = bench.deaf('heater');
    await bench.open(settings);
    await bench.set('heater', true);
    await bench.clock.advance(30_000);
    heater.beforeWrite = () => {
      throw new Error('bus busy');
    };
    await bench.set('heater', false);
    well(heater);
    await bench.clock.advance(30_000);
    expect(heater.shown).toBe(false);
  });

  it('is counted from its beginning, however often reading or writing fails', async () => {
    const heater = bench.fake('heater');
    let fails = false;
    (heater as { read: unknown }).read = async () => {
      if (fails) throw new Error('CRC');
      return heater.shown;
    };
    await bench.open(settings);
    await bench.set('heater', true);
    for (let times = 0; times < 4; times += 1) {
      await bench.clock.advance(14_000);
      fails = true;
      await bench.control.read('heater', new AbortController().signal);
      fails = false;
      await bench.set('heater', true);
    }
    expect(heater.shown).toBe(true);
    await bench.clock.advance(4_000);
    expect(heater.shown).toBe(false);
  });

  it('is counted for what may be on because nobody knows', async () => {
    const heater = bench.deaf('heater');
    heater.shown = true;
    await bench.open(settings);
    await bench.clock.advance(MINUTE_MS);
    expect(heater.shown).toBe(false);
  });

  it('is counted from when it may first have been on, when switching on failed', async () => {
    const heater = bench.deaf('heater');
    await bench.open({ ...settings, safe: { start: false } });
    heater.beforeWrite = () => {
      heater.shown = true;
      throw new Error('half done');
    };
    await bench.set('heater', true);
    well(heater);
    await bench.clock.advance(MINUTE_MS);
    expect(heater.shown).toBe(false);
  });

  it('is counted from when it was tried, when switching on failed a while later', async () => {
    for (const lateMs of [900, 1_100]) {
      const heater = bench.deaf('heater');
      await bench.open({ ...settings, safe: { start: false } });
      heater.beforeWrite = async () => {
        heater.shown = true;
        await bench.clock.sleep(lateMs, new AbortController().signal);
        throw new Error('half done');
      };
      const on = bench.set('heater', true);
      await bench.clock.advance(2_000);
      await on;
      well(heater);
      await bench.clock.advance(MINUTE_MS - 2_000);
      expect(heater.shown).toBe(false);
    }
  });

  it('goes on being counted by the next process, and is over at once when it has passed', async () => {
    const heater = bench.fake('heater');
    await bench.open(settings);
    await bench.set('heater', true);
    await bench.clock.advance(40_000);
    await bench.open(settings);
    await bench.clock.advance(19_000);
    expect(heater.shown).toBe(true);
    await bench.clock.advance(1_000);
    expect(heater.shown).toBe(false);
    await bench.set('heater', true);
    // While no process runs nobody counts: its timers are gone with it.
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + MINUTE_MS });
    await bench.open(settings);
    await bench.clock.advance(0);
    expect(heater.shown).toBe(false);
  });

  it('switches off what another boot has left on', async () => {
    const heater = bench.fake('heater');
    await bench.open(settings);
    await bench.set('heater', true);
    bench.clock.reboot({ bootId: 'boot-2' });
    await bench.open(settings);
    expect(heater.shown).toBe(false);
  });

  it('cannot be begun anew before it is known to be off', async () => {
    const heater = bench.fake('heater');
    await bench.open(settings);
    await bench.set('heater', true);
    busy(heater, false);
    await bench.clock.advance(MINUTE_MS);
    expect(await bench.set('heater', true)).toBe('actuators/max-on');
    well(heater);
    await bench.clock.advance(2_000);
    expect(await bench.set('heater', true)).toBe('moved');
  });

  it('is not restored after a restart when it had passed', async () => {
    const restored = { ...settings, restore: true };
    await bench.open(restored);
    await bench.set('heater', true);
    await bench.clock.advance(MINUTE_MS);
    await bench.control.close();
    await bench.open(restored);
    expect(bench.fake('heater').told).toEqual([true, false, false]);
  });

  it('may be longer than the longest timer', async () => {
    const { clock } = bench;
    const after = clock.after.bind(clock);
    clock.after = (ms, callback) => after(Math.min(ms, 2 ** 31 - 1), callback);
    await bench.open({ ...settings, limits: { maxOnMs: 30 * DAY_MS } });
    await bench.set('heater', true);
    await clock.advance(30 * DAY_MS - 1);
    expect(bench.fake('heater').shown).toBe(true);
    await clock.advance(1);
    expect(bench.fake('heater').shown).toBe(false);
  });

  it('is over when the agent stops, as nobody counts it then', async () => {
    await bench.open(settings);
    await bench.set('heater', true);
    await bench.control.close();
    expect([bench.fake('heater').shown, bench.marks]).toEqual([false, []]);
  });

  it('gives way to what is declared for a stop', async () => {
    await bench.open({ ...settings, safe: { stop: true } });
    await bench.set('heater', true);
    await bench.control.close();
    expect(bench.fake('heater').told).toEqual([true, true]);
  });
});

describe('the mark', () => {
  const limited = relaySettings('heater', { limits: { maxOnMs: MINUTE_MS } });

  it.each([
    ['of a pulse', relaySettings('heater'), () => bench.pulse('heater', 5_000)],
    ['of a longest time on', limited, () => bench.set('heater', true)],
    [
      'of a longest time on under a safe state',
      { ...limited, safe: { noContact: { afterMs: 10_000, value: true } } },
      () => bench.clock.advance(10_000),
    ],
  ])('%s is there before the hardware is told, and gone when it is off', async (_which, settings, act) => {
    const seen: (readonly string[])[] = [];
    bench.fake('heater').beforeWrite = (value) => void (value === true && seen.push(bench.marks));
    await bench.open(settings);
    await act();
    expect(seen).toEqual([['heater']]);
    await bench.set('heater', false);
    await bench.clock.advance(10);
    expect(bench.marks).toEqual([]);
  });

  it('keeps it off when it cannot be made', async () => {
    await bench.open(limited, relaySettings('bell'));
    bench.files.faults = { fail: () => ({ code: 'ENOSPC' }) };
    expect([await bench.set('heater', true), await bench.pulse('bell', 500)]).toEqual([
      'actuators/not-marked',
      'actuators/not-marked',
    ]);
    expect([bench.fake('heater').told, bench.fake('bell').told, bench.marks]).toEqual([[], [], []]);
    expect(bench.control.state('bell').pulsing).toBe(false);
    bench.files.faults = {};
    expect(await bench.set('heater', true)).toBe('moved');
  });

  it('keeps nothing on when it cannot be made: what was found on is switched off on a full disk', async () => {
    bench.fake('heater').shown = true;
    bench.files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    await bench.open(limited);
    expect([await bench.set('heater', false), bench.fake('heater').shown]).toEqual(['moved', false]);
  });

  it('waits behind no disk that is stuck', async () => {
    await bench.open(limited);
    bench.files.faults = { delay: () => new Promise(() => {}) };
    expect(await bench.set('heater', true)).toBe('moved');
    expect(bench.marks).toEqual(['heater']);
  });

  it('is not needed where nobody has to switch off', async () => {
    await bench.open(relaySettings('lamp'));
    bench.files.faults = { fail: () => ({ code: 'EROFS' }) };
    expect(await bench.set('lamp', true)).toBe('moved');
  });
});

describe('two pulses', () => {
  it('have each their own end, mark and stop', async () => {
    const valve = bench.fake('valve');
    await bench.open(relaySettings('valve'));
    await bench.pulse('valve', 10_000);
    await bench.clock.advance(2_000);
    await bench.set('valve', false);
    await bench.clock.advance(1_000);
    await bench.pulse('valve', 10_000);
    await bench.clock.advance(7_500);
    expect([valve.shown, bench.control.state('valve').pulsing, bench.marks]).toEqual([true, true, ['valve']]);
    await bench.clock.advance(2_500);
    expect([valve.shown, bench.control.state('valve').pulsing, bench.marks]).toEqual([false, false, []]);
    await bench.pulse('valve', 10_000);
    await bench.control.close();
    expect([valve.shown, bench.marks]).toEqual([false, []]);
  });

  it('end the longest time on when that is shorter', async () => {
    const valve = bench.fake('valve');
    await bench.open(relaySettings('valve', { limits: { maxOnMs: 3_000, maxPulseMs: 10_000 } }));
    await bench.pulse('valve', 10_000);
    await bench.clock.advance(3_000);
    expect([valve.shown, bench.control.state('valve').pulsing]).toEqual([false, false]);
    await bench.pulse('valve', 2_000);
    await bench.clock.advance(2_000);
    expect(valve.told).toEqual([true, false, true, false]);
  });
});

it('a stop while a pulse is being ended over a slow bus waits for it', async () => {
  const valve = new SlowActuator(bench.clock, { takesMs: () => 400, listens: true });
  bench.drivers.valve = valve;
  await bench.open(relaySettings('valve'));
  const pulse = bench.pulse('valve', 2_000);
  await bench.clock.advance(500);
  await pulse;
  await bench.clock.advance(2_000);
  expect(valve.told).toEqual([true, false]);
  const closing = bench.control.close();
  await bench.clock.advance(10_000);
  await closing;
  expect([valve.shown, bench.marks]).toEqual([false, []]);
});
