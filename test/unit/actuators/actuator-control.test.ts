import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import type { ActuatorSettings, ActuatorState } from '../../../src/actuators/kind/actuator.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
let clock: FakeClock;
let folder: string;
let locked: boolean;
let drivers: Record<string, FakeActuator>;
let control: ActuatorControl;

async function open(...settings: ActuatorSettings[]): Promise<ActuatorControl> {
  const file = new StateFile({
    ...OUTPUTS_FORMAT,
    path: join(folder, 'actuators.json'),
    files: systemFiles,
    clock,
    log: silentLog,
  });
  const outputs = await OutputFile.open(file, clock);
  const actuators = settings.map((each) => {
    drivers[each.name] ??= new FakeActuator();
    return { settings: each, driver: drivers[each.name] as FakeActuator };
  });
  control = await ActuatorControl.open(
    {
      actuators,
      memory: new ActuatorMemory({
        outputs,
        pulseMarks: await PulseMarks.open(folder, silentLog, { files: systemFiles, bootId: clock.bootId }),
      }),
      locked: () => locked,
      clock,
      log: silentLog,
    },
    never,
  );
  return control;
}

const rpc = { by: 'rpc' } as const;
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'moved',
    (error: { code?: string }) => error.code,
  );
const set = (name: string, value: unknown, by: 'rpc' | 'local' = 'rpc'): Promise<unknown> =>
  codeOf(control.set(name, value, { by }, never));
const relay = (name = 'relay'): FakeActuator => drivers[name] as FakeActuator;

async function untilMarked(names: readonly string[]): Promise<void> {
  const marked = (): Promise<string[]> => readdir(join(folder, 'pulses')).catch(() => []);
  while ((await marked()).join() !== names.join()) await new Promise((resolve) => setTimeout(resolve, 5));
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-actuators-'));
  clock = new FakeClock({ monotonicMs: 100_000 });
  locked = false;
  drivers = {};
});
afterEach(async () => {
  await control.close();
  await rm(folder, { recursive: true });
});

describe('an actuator', () => {
  it('moves, is read back, and tells who owns it', async () => {
    await open(relaySettings('relay'));
    const states: ActuatorState[] = [];
    control.onState((state) => states.push(state));
    expect(await control.set('relay', true, rpc, never)).toMatchObject({ value: true, desired: true, by: 'rpc' });
    await control.set('relay', false, { by: 'rule' }, never);
    expect(states.map(({ value, by }) => [value, by])).toEqual([
      [true, 'rpc'],
      [false, 'rule'],
    ]);
  });

  it('has moved although whoever is told of it fails', async () => {
    await open(relaySettings('relay'));
    control.onState(() => {
      throw new Error('a bad listener');
    });
    expect(await set('relay', true)).toBe('moved');
  });

  it('says so when the hardware does not follow', async () => {
    await open(relaySettings('relay'));
    relay().write = async () => {};
    expect(await set('relay', true)).toBe('actuators/not-moved');
    expect(control.state('relay')).toMatchObject({ value: false, fault: 'shows off, was set to on' });
  });

  it('fails at its deadline when the hardware hangs, and its state is then what can be read', async () => {
    await open(relaySettings('relay', { deadlineMs: 500 }));
    relay().beforeWrite = () => new Promise(() => {});
    const moving = set('relay', true);
    await clock.advance(500);
    expect(await moving).toBe('actuators/deadline-passed');
    expect(control.state('relay')).toMatchObject({ value: false, fault: expect.stringContaining('500 ms') });
  });

  it('takes only what its type, range and step allow', async () => {
    await open(
      relaySettings('relay'),
      relaySettings('valve', { valueType: 'number', limits: { min: 10, max: 90, step: 0.1 } }),
    );
    relay('valve').shown = 10;
    const tried = [
      ['relay', 2],
      ['relay', 'up'],
      ['valve', true],
      ['valve', Number.NaN],
      ['valve', 9],
      ['valve', 90.1],
      ['valve', 10.05],
      ['valve', 10.3],
    ];
    const outcomes = [];
    for (const [name, value] of tried) outcomes.push(await set(name as string, value));
    const wrongType = 'actuators/wrong-type';
    expect(outcomes.slice(0, 4)).toEqual([wrongType, wrongType, wrongType, wrongType]);
    expect(outcomes.slice(4)).toEqual([
      'actuators/out-of-range',
      'actuators/out-of-range',
      'actuators/off-step',
      'moved',
    ]);
    expect(await set('none', true)).toBe('actuators/unknown');
    await control.close();
    await open(relaySettings('display', { valueType: 'string' }));
    expect([await set('display', 'x'.repeat(1_024)), await set('display', 'x'.repeat(1_025))]).toEqual([
      'moved',
      'actuators/out-of-range',
    ]);
  });

  it('stays on and off for its least times', async () => {
    await open(relaySettings('relay', { limits: { minOnMs: 10_000, minOffMs: 60_000 } }));
    expect(await set('relay', true)).toBe('moved');
    expect(await set('relay', true)).toBe('moved');
    await clock.advance(9_999);
    expect(await set('relay', false)).toBe('actuators/min-on');
    await clock.advance(1);
    expect(await set('relay', false)).toBe('moved');
    await clock.advance(59_000);
    expect(await set('relay', true)).toBe('actuators/min-off');
    await clock.advance(1_000);
    expect(await set('relay', true)).toBe('moved');
  });

  it('keeps its least times across a restart, and counts from the boot after a reboot', async () => {
    const settings = relaySettings('relay', { limits: { minOffMs: 60_000 } });
    await open(settings);
    await set('relay', true);
    await set('relay', false);
    await control.close();
    await clock.advance(30_000);
    await open(settings);
    expect(await set('relay', true)).toBe('actuators/min-off');
    await control.close();
    clock.reboot({ bootId: 'boot-2', monotonicMs: 5_000 });
    await open(settings);
    expect(await set('relay', true)).toBe('actuators/min-off');
    await clock.advance(55_000);
    expect(await set('relay', true)).toBe('moved');
  });

  it('is switched on so often an hour and no more, and off at any time', async () => {
    await open(relaySettings('relay', { limits: { maxSwitchesPerHour: 2 } }));
    for (const value of [true, false, true, false]) expect(await set('relay', value)).toBe('moved');
    expect(await set('relay', true)).toBe('actuators/too-many-switches');
    expect(await set('relay', false)).toBe('moved');
    await clock.advance(3_600_000);
    expect(await set('relay', true)).toBe('moved');
  });

  it('counts an hour from the boot for what was switched on before it, through as many boots as come', async () => {
    const settings = relaySettings('relay', { limits: { maxSwitchesPerHour: 2 } });
    await open(settings);
    for (const value of [true, false, true, false]) expect(await set('relay', value)).toBe('moved');
    for (const bootId of ['boot-2', 'boot-3']) {
      await control.close();
      clock.reboot({ bootId, monotonicMs: 20_000 });
      await open(settings);
      expect(await set('relay', true)).toBe('actuators/too-many-switches');
    }
    await clock.advance(3_580_000);
    expect(await set('relay', true)).toBe('moved');
  });

  it('is pulsed within its limits too', async () => {
    await open(relaySettings('relay', { limits: { minOffMs: 60_000, maxSwitchesPerHour: 2 } }));
    const pulse = async (): Promise<unknown> => {
      const pulsing = codeOf(control.pulse('relay', { ...rpc, durationMs: 100 }, never));
      await clock.advance(100);
      return await pulsing;
    };
    expect([await pulse(), await pulse()]).toEqual(['moved', 'actuators/min-off']);
    await clock.advance(60_000);
    expect(await pulse()).toBe('moved');
    await clock.advance(60_000);
    expect([await pulse(), relay().risings]).toEqual(['actuators/too-many-switches', 2]);
  });

  it('is switched off after its longest time on, whoever switched it on', async () => {
    await open(relaySettings('relay', { limits: { maxOnMs: 5_000 } }));
    await set('relay', true, 'local');
    await clock.advance(4_000);
    await set('relay', true);
    await clock.advance(999);
    expect(relay().shown).toBe(true);
    await clock.advance(1);
    expect(relay().shown).toBe(false);
  });

  it('is never on together with one it excludes, also when both are asked at once or the other is not known', async () => {
    await open(relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }] }), relaySettings('down'));
    expect(await Promise.all([set('up', true), set('down', true)])).toEqual(['moved', 'actuators/interlocked']);
    await set('up', false);
    expect(await set('down', true)).toBe('moved');
    expect(await set('up', true)).toBe('actuators/interlocked');
    relay('down').beforeWrite = () => Promise.reject(new Error('bus'));
    (relay('down') as { read: unknown }).read = () => Promise.reject(new Error('bus'));
    expect(await set('down', false)).not.toBe('moved');
    expect(await set('up', true)).toBe('actuators/interlocked');
  });

  it('is moved by nobody from afar under lockout, and by the person on site', async () => {
    await open(relaySettings('relay'));
    locked = true;
    expect(await set('relay', true)).toBe('actuators/locked-out');
    expect(await codeOf(control.pulse('relay', { durationMs: 10, by: 'shared' }, never))).toBe('actuators/locked-out');
    expect(await codeOf(control.set('relay', true, { by: 'rule' }, never))).toBe('actuators/locked-out');
    expect(await set('relay', true, 'local')).toBe('moved');
  });
});

describe('a pulse', () => {
  it('goes on and off once, and resolves at its end', async () => {
    await open(relaySettings('relay'));
    const pulsing = control.pulse('relay', { durationMs: 300, ...rpc }, never);
    await clock.advance(299);
    expect([relay().shown, control.state('relay').pulsing]).toEqual([true, true]);
    await clock.advance(1);
    expect(await pulsing).toMatchObject({ value: false, pulsing: false });
    expect(relay().told).toEqual([true, false]);
  });

  it('of more than a second is answered when it has begun, and ends all the same', async () => {
    await open(relaySettings('relay'));
    expect(await control.pulse('relay', { durationMs: 5_000, ...rpc }, never)).toMatchObject({
      value: true,
      pulsing: true,
    });
    await clock.advance(5_000);
    expect([relay().told, control.state('relay').pulsing]).toEqual([[true, false], false]);
  });

  it('is refused while it is on, when too long, and for what does not switch', async () => {
    await open(
      relaySettings('relay', { limits: { maxPulseMs: 1_000 } }),
      relaySettings('dimmer', { valueType: 'number' }),
    );
    const pulse = (name: string, durationMs: number): Promise<unknown> =>
      codeOf(control.pulse(name, { durationMs, ...rpc }, never));
    expect([await pulse('relay', 1_001), await pulse('relay', 0), await pulse('relay', Number.NaN)]).toEqual(
      Array(3).fill('actuators/out-of-range'),
    );
    expect(await pulse('dimmer', 100)).toBe('actuators/no-pulse');
    void pulse('relay', 500);
    expect(await pulse('relay', 500)).toBe('actuators/already-on');
    await clock.advance(500);
    expect(relay().risings).toBe(1);
  });

  it('ends although the caller has gone and the hardware fails at first', async () => {
    await open(relaySettings('relay'));
    const caller = new AbortController();
    let faults = 3;
    relay().beforeWrite = (value) => {
      if (value === false && faults-- > 0) throw new Error('busy');
    };
    const pulsing = control.pulse('relay', { durationMs: 100, ...rpc }, caller.signal);
    await clock.advance(50);
    caller.abort();
    await clock.advance(1_000);
    await pulsing;
    expect(relay().told).toEqual([true, false]);
  });

  it('is switched off when nobody knows whether it began', async () => {
    await open(relaySettings('relay', { deadlineMs: 100 }));
    relay().read = async () => {
      throw new Error('says nothing');
    };
    relay().beforeWrite = (value) => {
      if (value === true) throw new Error('half done');
    };
    expect(await codeOf(control.pulse('relay', { durationMs: 100, ...rpc }, never))).toBeUndefined();
    expect(relay().told).toEqual([false]);
  });

  it('that a kill cut short is ended by the next process, also where no safe state is declared', async () => {
    await open(relaySettings('relay'));
    void control.pulse('relay', { durationMs: 60_000, ...rpc }, never);
    await untilMarked(['relay']);
    // The process is gone: nothing of it runs on, but the hardware holds its level.
    await open(relaySettings('relay'));
    expect(relay().told).toEqual([true, false]);
    await untilMarked([]);
  });

  it('leaves no trace once it has ended by itself', async () => {
    await open(relaySettings('relay'));
    await control.pulse('relay', { durationMs: 5_000, ...rpc }, never);
    await clock.advance(5_000);
    await control.close();
    relay().shown = true;
    await open(relaySettings('relay'));
    expect(relay().told).toEqual([true, false]);
  });

  it('leaves an actuator on that someone has switched on meanwhile', async () => {
    await open(relaySettings('relay'));
    void control.pulse('relay', { durationMs: 500, ...rpc }, never);
    await clock.advance(100);
    await control.set('relay', true, { by: 'local' }, never);
    await clock.advance(1_000);
    expect(relay().shown).toBe(true);
    expect(control.state('relay')).toMatchObject({ by: 'local', pulsing: false });
    await control.close();
    await open(relaySettings('relay'));
    expect(relay().shown).toBe(true);
  });
});

describe('a safe state', () => {
  it('is set at start, at stop and after silence', async () => {
    const safe = { start: true, stop: true, noContact: { afterMs: 60_000, value: false } };
    await open(relaySettings('relay', { safe, limits: { minOnMs: 3_600_000 } }));
    expect(relay().told).toEqual([true]);
    locked = true;
    await clock.advance(50_000);
    control.contact.heard();
    await clock.advance(59_000);
    expect(relay().told).toEqual([true]);
    await clock.advance(1_000);
    expect(relay().told).toEqual([true, false]);
    expect(control.state('relay')).toMatchObject({ by: 'safe-state' });
    await clock.advance(600_000);
    control.contact.heard();
    await clock.advance(60_000);
    expect(relay().told).toEqual([true, false]);
    await control.close();
    expect([relay().told.at(-1), relay().closed]).toEqual([true, true]);
  });

  it('goes before a movement that hangs', async () => {
    await open(relaySettings('relay', { safe: { noContact: { afterMs: 1_000, value: false } }, deadlineMs: 30_000 }));
    relay().beforeWrite = (value) => (value === true ? new Promise(() => {}) : undefined);
    const moving = set('relay', true);
    await clock.advance(1_300);
    expect(relay().told).toEqual([false]);
    await clock.advance(30_000);
    expect(await moving).not.toBe('moved');
    expect(control.state('relay')).toMatchObject({ value: false, by: 'safe-state' });
  });

  it('ends a pulse at stop when none is declared', async () => {
    await open(relaySettings('relay'));
    void control.pulse('relay', { durationMs: 5_000, ...rpc }, never);
    await clock.advance(10);
    await control.close();
    expect(relay().told).toEqual([true, false]);
    expect(await set('relay', true)).toBe('actuators/closing');
  });

  it('gives way to the last desired value where that is restored, under lockout once that ends', async () => {
    const settings = relaySettings('relay', { restore: true, safe: { start: false, stop: false } });
    await open(settings);
    await set('relay', true);
    await control.close();
    clock.reboot({ bootId: 'boot-2' });
    await open(settings);
    expect(control.state('relay')).toMatchObject({ value: true, by: 'restore' });
    await control.close();
    locked = true;
    await open(settings);
    expect(control.state('relay').value).toBe(false);
    locked = false;
    await clock.advance(5_000);
    expect(control.state('relay')).toMatchObject({ value: true, by: 'restore' });
  });

  it('gives way to off under lockout, too: what was off does not begin to run, and what did not go off is told again', async () => {
    const settings = [
      relaySettings('relay', { restore: true, safe: { start: true } }),
      relaySettings('mute', { restore: true }),
    ];
    await open(...settings);
    await set('relay', false);
    await set('mute', true);
    relay('mute').beforeWrite = () => {
      throw new Error('the bus is mute');
    };
    await set('mute', false);
    await control.close();
    relay('mute').beforeWrite = () => {};
    clock.reboot({ bootId: 'boot-2' });
    await rm(join(folder, 'pulses'), { recursive: true });
    locked = true;
    await open(...settings);
    expect(control.states()).toMatchObject(['relay', 'mute'].map((name) => ({ name, value: false, by: 'restore' })));
    expect(relay().told).toEqual([true, false, false]);
  });

  it('holds until a restoring that the limits forbid for now is allowed', async () => {
    const settings = relaySettings('relay', {
      restore: true,
      safe: { start: false, stop: false },
      limits: { minOffMs: 60_000 },
    });
    await open(settings);
    await set('relay', true);
    await control.close();
    clock.reboot({ bootId: 'boot-2', monotonicMs: 5_000 });
    await open(settings);
    expect(control.state('relay').value).toBe(false);
    await clock.advance(70_000);
    expect(control.state('relay').value).toBe(true);
  });

  it('waits for no disk', async () => {
    const files = new MemoryFiles();
    files.faults = { delay: (operation) => (operation === 'sync' ? new Promise(() => {}) : undefined) };
    const file = new StateFile({ ...OUTPUTS_FORMAT, path: '/state/actuators.json', log: silentLog, files, clock });
    drivers.relay = new FakeActuator();
    const actuators = [{ settings: relaySettings('relay', { restore: true }), driver: drivers.relay }];
    const stuck = await ActuatorControl.open(
      {
        actuators,
        memory: new ActuatorMemory({
          outputs: await OutputFile.open(file, clock),
          pulseMarks: await PulseMarks.open(folder, silentLog, { files: systemFiles, bootId: clock.bootId }),
        }),
        locked: () => false,
        clock,
        log: silentLog,
      },
      never,
    );
    await stuck.set('relay', true, rpc, never);
    await stuck.set('relay', false, rpc, never);
    expect(drivers.relay.told).toEqual([true, false]);
    control = await open();
  });
});
