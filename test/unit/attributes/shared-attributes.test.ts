import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../../../src/attributes/applied-values.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { actuatorTarget, type SharedTarget, settingTarget } from '../../../src/attributes/shared-target.ts';
import type { ChangeableSetting } from '../../../src/config/live-config.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { sealJson } from '../../../src/store/sealed-json.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
let folder: string;
let clock: FakeClock;
let locked: boolean;
let relay: FakeActuator;
let actuators: ActuatorControl;
let applied: AppliedValues;
let shared: SharedAttributes;
let periodS: JsonValue;
let offers: JsonObject[];
let savedOffers: string[][];

const period: ChangeableSetting = {
  key: 'periodS',
  shape: { type: 'number', minimum: 1, maximum: 60 },
  apply: (value) => {
    periodS = value ?? 10;
  },
};

/** Two settings of which one must not be above the other. */
let range: { min: number; max: number };
let configuredMax: number;
let changes: number;
const limit = (key: 'rangeMin' | 'rangeMax', end: 'min' | 'max', configured: () => number): ChangeableSetting => ({
  key,
  shape: {},
  apply: (value) => {
    const next = { ...range, [end]: Number(value ?? configured()) };
    if (next.min > next.max) throw new AgentError('agent/setting-refused', 'they cross', { recovery: 'drop' });
    range = next;
  },
});
const limits = [limit('rangeMin', 'min', () => 1), limit('rangeMax', 'max', () => configuredMax)];

/** A new process: everything that is not on disk is gone. */
async function start(): Promise<void> {
  periodS = 10;
  range = { min: 1, max: configuredMax };
  changes = 0;
  offers = [];
  savedOffers = [];
  const outputs = await OutputFile.open(
    new StateFile({
      ...OUTPUTS_FORMAT,
      path: join(folder, 'actuators.json'),
      files: systemFiles,
      clock,
      log: silentLog,
    }),
    clock,
  );
  const settings = relaySettings('relay', { limits: { minOffMs: 5_000 } });
  actuators = await ActuatorControl.open(
    {
      actuators: [{ settings, driver: relay }],
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
  applied = await AppliedValues.open(
    new StateFile({
      ...APPLIED_VALUES_FORMAT,
      path: join(folder, 'shared.json'),
      files: systemFiles,
      clock,
      log: silentLog,
    }),
  );
  const targets = [
    actuatorTarget('relayWish', 'relay', actuators),
    settingTarget(period),
    ...limits.map(settingTarget),
  ];
  const deps = {
    targets: () => targets,
    applied,
    firmwareKeys: ['fw_title', 'fw_version'],
    log: silentLog,
    onChange: () => {
      changes += 1;
    },
  };
  const onFirmwareOffer = (offer: JsonObject, saved: ReadonlySet<string>): void => {
    offers.push(offer);
    savedOffers.push([...saved]);
  };
  shared = await SharedAttributes.open({ ...deps, onFirmwareOffer }, never);
}

async function restart(): Promise<void> {
  await applied.close();
  await actuators.close();
  await start();
}

/** A target that only tells what it is moved to, and agents one after the other whose files lie in memory. */
function gateInMemory() {
  const files = new MemoryFiles();
  const paths = { path: '/state/shared.json', behindMark: '/run/behind/shared.json' };
  const moves: JsonValue[] = [];
  const gate: SharedTarget = {
    key: 'gate',
    shape: {},
    switchesOff: () => false,
    clear: () => {},
    restored: false,
    writes: () => 0,
    apply: (value) => void moves.push(value),
  };
  const open = async (): Promise<{ own: SharedAttributes; kept: AppliedValues }> => {
    const kept = await AppliedValues.open(
      new StateFile({ ...APPLIED_VALUES_FORMAT, ...paths, files, clock, log: silentLog }),
    );
    const quiet = { firmwareKeys: [], onFirmwareOffer: () => {}, log: silentLog, onChange: () => {} };
    return { own: await SharedAttributes.open({ targets: () => [gate], applied: kept, ...quiet }, never), kept };
  };
  return { files, moves, open, gate };
}

const reconcile = (answer: JsonObject): Promise<boolean> => shared.reconcile(answer, never);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-shared-'));
  clock = new FakeClock({ monotonicMs: 1_000_000 });
  locked = false;
  configuredMax = 5;
  relay = new FakeActuator();
  await start();
});
afterEach(async () => {
  await applied.close();
  await actuators.close();
  await rm(folder, { recursive: true });
});

describe('shared attributes, while one of them takes long', () => {
  const quiet = { firmwareKeys: [], onFirmwareOffer: () => {}, log: silentLog, onChange: () => {} };
  const target = (key: string, apply: SharedTarget['apply']): SharedTarget => ({
    key,
    shape: {},
    switchesOff: () => false,
    clear: () => {},
    restored: false,
    writes: () => 0,
    apply,
  });

  it('leave the rest to the newer answer, which has seen to it', async () => {
    const hanging = Promise.withResolvers<void>();
    let tries = 0;
    const waits = async (): Promise<void> => {
      tries += 1;
      throw new AgentError('actuators/too-soon', 'not yet', { recovery: 'retry' });
    };
    const targets = [target('hangs', () => hanging.promise), target('waits', waits)];
    const own = await SharedAttributes.open({ targets: () => targets, applied, ...quiet }, never);
    const older = own.reconcile({ hangs: 1, waits: 1 }, never);
    await clock.advance(0);
    await own.reconcile({ hangs: 1, waits: 2 }, never);
    expect(tries).toBe(1);
    hanging.resolve();
    await older;
    expect(tries).toBe(1);
  });

  it('are wished still when a stop has ended what was under way', async () => {
    const { files } = gateInMemory();
    const stop = new AbortController();
    const moved: JsonValue[] = [];
    const kept = async (): Promise<AppliedValues> =>
      await AppliedValues.open(
        new StateFile({ ...APPLIED_VALUES_FORMAT, path: '/state/shared.json', files, clock, log: silentLog }),
      );
    const ended = (_value: JsonValue, signal: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () =>
          reject(new AgentError('actuators/closing', 'closing', { recovery: 'hold' })),
        ),
      );
    const before = await kept();
    const first = await SharedAttributes.open(
      { targets: () => [target('gate', ended)], applied: before, ...quiet },
      stop.signal,
    );
    const reconciling = first.reconcile({ gate: true }, stop.signal);
    await clock.advance(0);
    stop.abort();
    await reconciling;
    await before.close();
    const next = await SharedAttributes.open(
      { targets: () => [target('gate', (value) => void moved.push(value))], applied: await kept(), ...quiet },
      never,
    );
    await next.reconcile({ gate: true }, never);
    expect(moved).toEqual([true]);
  });
});

describe('shared attributes', () => {
  it('move an actuator and change a setting, once for each new value', async () => {
    expect(await reconcile({ relayWish: true, periodS: 5 })).toBe(true);
    expect(await reconcile({ relayWish: true, periodS: 5 })).toBe(false);
    expect([relay.told, periodS, actuators.state('relay').by]).toEqual([[true], 5, 'shared']);
  });

  it('never undo what an RPC or a person has done since, before and after a restart', async () => {
    await reconcile({ relayWish: true });
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await reconcile({ relayWish: true });
    // The start writes what the operator's slot says.
    await restart();
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false, false]);
    await clock.advance(5_000);
    await reconcile({ relayWish: false });
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false, false, false, true]);
  });

  it('hold offline after a restart: settings do, an actuator is left to its own choice', async () => {
    await reconcile({ relayWish: true, periodS: 7 });
    relay.shown = false;
    await restart();
    expect([periodS, relay.told]).toEqual([7, [true]]);
  });

  it('go back to what is configured when they are deleted; an actuator stays as it is', async () => {
    await reconcile({ relayWish: true, periodS: 7 });
    expect(await reconcile({})).toBe(true);
    expect([periodS, relay.told]).toEqual([10, [true]]);
    await restart();
    expect(periodS).toBe(10);
  });

  it('that do not fit are refused, reported, and leave the value in force', async () => {
    await reconcile({ periodS: 7 });
    for (const value of [0, 61, '7', null, true, { a: 1 }, 9007199254740993n]) {
      await reconcile({ periodS: value, relayWish: 'up' });
      expect(periodS).toBe(7);
      expect(Object.keys(shared.refusals)).toEqual(['relayWish', 'periodS']);
    }
    expect(shared.refusals.periodS).toBe('periodS is 9007199254740993, at most 60 is allowed');
    await reconcile({ periodS: 8 });
    expect([periodS, shared.refusals, relay.told]).toEqual([8, {}, []]);
  });

  it('are wishes when they are saved again, whoever has moved the actuator since, and no wishes when they are read again', async () => {
    await reconcile({ relayWish: true });
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await clock.advance(10_000);
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false]);
    shared.noteSaved(['relayWish', 'somebody else’s']);
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false, true]);
    // One saving is one wish.
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await clock.advance(10_000);
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false, true, false]);
  });

  it('are taken when they are saved again after they were refused under lockout', async () => {
    locked = true;
    await reconcile({ relayWish: true });
    locked = false;
    await reconcile({ relayWish: true });
    expect([relay.told, Object.keys(shared.refusals)]).toEqual([[], ['relayWish']]);
    shared.noteSaved(['relayWish']);
    await reconcile({ relayWish: true });
    expect([relay.told, shared.refusals]).toEqual([[true], {}]);
  });

  it.each(['off', 'OFF', ' false ', 'false', 0, '0'])(
    'switch as the configuration file does: %j is off, and its counterpart is on',
    async (off) => {
      const on = { off: 'on', OFF: 'On', ' false ': 'TRUE', false: 'true', 0: 1 }[String(off)] ?? true;
      await reconcile({ relayWish: on });
      await reconcile({ relayWish: off });
      expect([relay.told, shared.refusals]).toEqual([[true, false], {}]);
    },
  );

  it('say when they are refused what would be taken', async () => {
    await reconcile({ relayWish: { enabled: true } });
    expect(shared.refusals.relayWish).toBe(
      'relay takes true or false (also "on", "off", 1, 0), bare or as {"value": true}; it was given {"enabled":true}',
    );
  });

  it('that fitted once and no longer do after a change of the configuration are refused at start', async () => {
    await reconcile({ periodS: 7 });
    await applied.close();
    await writeFile(
      join(folder, 'shared.json'),
      sealJson({
        format: 'turnstone/shared-attributes',
        version: 1,
        state: { values: { periodS: { value: 700, outcome: 'applied' } } },
      }),
    );
    await actuators.close();
    await start();
    expect([periodS, Object.keys(shared.refusals)]).toEqual([10, ['periodS']]);
  });

  it('that a limit forbids for now wait, and are applied when it allows', async () => {
    await actuators.set('relay', true, { by: 'rpc' }, never);
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await reconcile({ relayWish: true });
    expect([shared.hasWaiting, shared.refusals.relayWish]).toEqual([true, expect.stringContaining('in 5 s')]);
    await shared.retryWaiting(never);
    expect(relay.shown).toBe(false);
    await clock.advance(5_000);
    await shared.retryWaiting(never);
    expect([relay.shown, shared.hasWaiting, shared.refusals]).toEqual([true, false, {}]);
  });

  it('that wait do so no more when what was applied last is wished again', async () => {
    await actuators.set('relay', true, { by: 'rpc' }, never);
    await reconcile({ relayWish: false });
    await reconcile({ relayWish: true });
    expect(shared.hasWaiting).toBe(true);
    await reconcile({ relayWish: false });
    expect([shared.hasWaiting, shared.refusals]).toEqual([false, {}]);
    await clock.advance(5_000);
    await shared.retryWaiting(never);
    expect([relay.shown, relay.risings]).toEqual([false, 1]);
  });

  it('that failed half-way are undone when what was applied last is wished again', async () => {
    await reconcile({ relayWish: false });
    relay.beforeWrite = (value) => {
      relay.shown = value;
      if (value === true) throw new AgentError('hardware/io', 'no answer', { recovery: 'retry' });
    };
    await reconcile({ relayWish: true });
    expect([relay.shown, shared.hasWaiting]).toEqual([false, true]);
    expect(await reconcile({ relayWish: false })).toBe(true);
    expect([relay.shown, shared.hasWaiting, shared.refusals]).toEqual([false, false, {}]);
  });

  it('that wait are told once for each gate that is closed, however it counts the seconds', async () => {
    const told: unknown[] = [];
    const changes: string[] = [];
    const log = { ...silentLog, warn: (fields: object) => void told.push(fields) };
    const targets = [actuatorTarget('relayWish', 'relay', actuators)];
    const deps = {
      targets: () => targets,
      applied,
      firmwareKeys: [],
      onFirmwareOffer: () => {},
      log,
      onChange: () => void changes.push(''),
    };
    const own = await SharedAttributes.open(deps, never);
    await actuators.set('relay', true, { by: 'rpc' }, never);
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await own.reconcile({ relayWish: true }, never);
    for (let waited = 0; waited < 4; waited += 1) {
      await clock.advance(1_000);
      await own.retryWaiting(never);
    }
    expect([told.length, changes.length]).toEqual([1, 1]);
    await own.reconcile({ relayWish: 'on' }, never);
    expect([told.length, changes.length]).toEqual([2, 2]);
  });

  it('that switch off wait for none that hangs', async () => {
    const hanging = Promise.withResolvers<void>();
    const acted: string[] = [];
    const target = (key: string, end?: Promise<void>): SharedTarget => ({
      key,
      shape: {},
      clear: () => {},
      restored: false,
      writes: () => 0,
      switchesOff: (value) => value === false,
      apply: async () => {
        acted.push(key);
        await end;
      },
    });
    const targets = [
      target('slow', hanging.promise),
      target('pump'),
      target('slowToo', hanging.promise),
      target('fan'),
    ];
    const deps = {
      targets: () => targets,
      applied,
      firmwareKeys: [],
      onFirmwareOffer: () => {},
      log: silentLog,
      onChange: () => {},
    };
    const own = await SharedAttributes.open(deps, never);
    const reconciled = own.reconcile({ slow: true, pump: false, slowToo: false, fan: false }, never);
    await clock.advance(0);
    expect(acted).toEqual(['pump', 'slowToo', 'fan']);
    hanging.resolve();
    expect([await reconciled, acted.at(-1)]).toEqual([true, 'slow']);
    expect(await own.reconcile({ slow: true, pump: false, slowToo: false, fan: false }, never)).toBe(false);
    expect(await own.reconcile({ slow: true, pump: false, slowToo: false, fan: true }, never)).toBe(true);
    expect(await own.reconcile({ slow: true, pump: false, slowToo: false, fan: false }, never)).toBe(true);
  });

  describe('beside hardware that hangs', () => {
    let acted: string[];
    let hanging: PromiseWithResolvers<void>;
    let own: SharedAttributes;

    beforeEach(async () => {
      acted = [];
      hanging = Promise.withResolvers();
      const target = (key: string, hangs: boolean): SharedTarget => ({
        key,
        shape: {},
        clear: () => {},
        restored: false,
        writes: () => 0,
        switchesOff: (value) => value === 0,
        apply: async (value) => {
          acted.push(`${key} ${value}`);
          if (hangs && value !== 0) await hanging.promise;
        },
      });
      const targets = [target('siren', true), target('pump', false)];
      const deps = {
        targets: () => targets,
        applied,
        firmwareKeys: [],
        onFirmwareOffer: () => {},
        log: silentLog,
        onChange: () => {},
      };
      own = await SharedAttributes.open(deps, never);
    });

    it('come with the next answer, which counts from then on, and begin nothing anew', async () => {
      const first = own.reconcile({ siren: 1, pump: 1 }, never);
      await clock.advance(0);
      expect(await own.reconcile({ siren: 1, pump: 0 }, never)).toBe(true);
      expect(acted).toEqual(['siren 1', 'pump 0']);
      hanging.resolve();
      await first;
      expect([acted.length, applied.applied('pump'), applied.applied('siren')]).toEqual([2, 0, 1]);
    });

    it('switch that off at once, and what it was to be has no outcome any more', async () => {
      const first = own.reconcile({ siren: 1 }, never);
      await clock.advance(0);
      await own.reconcile({ siren: 0 }, never);
      hanging.reject(new AgentError('actuators/overridden', 'switching off went first', { recovery: 'drop' }));
      await first;
      expect([acted, applied.applied('siren'), own.refusals]).toEqual([['siren 1', 'siren 0'], 0, {}]);
    });

    it('switch that off at once when off is what was applied last, too', async () => {
      await own.reconcile({ siren: 0 }, never);
      const first = own.reconcile({ siren: 1 }, never);
      await clock.advance(0);
      expect(await own.reconcile({ siren: 0 }, never)).toBe(true);
      expect(acted).toEqual(['siren 0', 'siren 1', 'siren 0']);
      hanging.reject(new AgentError('actuators/overridden', 'switching off went first', { recovery: 'drop' }));
      await first;
      expect([acted.length, applied.applied('siren'), own.refusals]).toEqual([3, 0, {}]);
    });

    it('are taken up when it has ended, the newest of them', async () => {
      const first = own.reconcile({ siren: 1 }, never);
      await clock.advance(0);
      await own.reconcile({ siren: 2 }, never);
      await own.reconcile({ siren: 3 }, never);
      expect(acted).toEqual(['siren 1']);
      hanging.resolve();
      await first;
      expect([acted, applied.applied('siren')]).toEqual([['siren 1', 'siren 3'], 3]);
    });

    it('that are deleted are not remembered when it ends', async () => {
      const first = own.reconcile({ siren: 1 }, never);
      await clock.advance(0);
      expect(await own.reconcile({}, never)).toBe(true);
      hanging.resolve();
      await first;
      expect(applied.has('siren')).toBe(false);
    });
  });

  it('that somebody’s switching off overtook move nothing after a restart', async () => {
    const begun = Promise.withResolvers<void>();
    relay.beforeWrite = (value) => (value === true ? begun.promise : undefined);
    const reconciling = reconcile({ relayWish: true });
    await clock.advance(0);
    const off = actuators.set('relay', false, { by: 'rpc' }, never);
    begun.reject(new Error('stopped'));
    await clock.advance(1_000);
    await Promise.all([reconciling, off]);
    relay.beforeWrite = () => {};
    await clock.advance(10_000);
    await restart();
    await reconcile({ relayWish: true });
    expect([relay.shown, relay.risings]).toEqual([false, 0]);
  });

  it('that wait are dropped when someone else writes meanwhile, also after a restart', async () => {
    await actuators.set('relay', true, { by: 'rpc' }, never);
    await actuators.set('relay', false, { by: 'rpc' }, never);
    await reconcile({ relayWish: true });
    await actuators.set('relay', false, { by: 'local' }, never);
    await clock.advance(5_000);
    await shared.retryWaiting(never);
    await reconcile({ relayWish: true });
    await restart();
    await reconcile({ relayWish: true });
    expect([relay.shown, relay.risings]).toEqual([false, 1]);
  });

  it('that come under lockout move nothing when it ends, also after a restart, until the wish changes', async () => {
    locked = true;
    await reconcile({ relayWish: true });
    expect(shared.refusals.relayWish).toContain('locked out');
    locked = false;
    await reconcile({ relayWish: true });
    await restart();
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([]);
    await reconcile({ relayWish: false });
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([false, true]);
  });

  it('offer firmware once for each change, and say when the offer is withdrawn', async () => {
    expect(await reconcile({})).toBe(false);
    await reconcile({ periodS: 5 });
    await reconcile({ fw_title: 'a', fw_version: '1' });
    await reconcile({ fw_title: 'a', fw_version: '1', periodS: 6 });
    await reconcile({ fw_title: 'a', fw_version: '2' });
    await reconcile({});
    // The first tells an update of the last run that nothing is offered any more.
    expect(offers).toEqual([{}, { fw_title: 'a', fw_version: '1' }, { fw_title: 'a', fw_version: '2' }, {}]);
  });

  it('are handed over again when the platform tells that they were written or deleted, though they read the same', async () => {
    const offer = { fw_title: 'a', fw_version: '1' };
    await shared.reconcile(offer, never);
    shared.noteSaved([], ['fw_title']);
    expect(await shared.reconcile(offer, never)).toBe(false);
    shared.noteSaved(['fw_version', 'periodS']);
    await shared.reconcile(offer, never);
    await shared.reconcile(offer, never);
    expect([offers, savedOffers]).toEqual([
      [offer, offer, offer],
      [[], ['fw_title'], ['fw_version']],
    ]);
  });

  it('are asked for by every key there is, and unknown ones in an answer are nobody’s', async () => {
    expect(shared.keys).toEqual(['relayWish', 'periodS', 'rangeMin', 'rangeMax', 'fw_title', 'fw_version']);
    expect(
      await reconcile(JSON.parse('{"__proto__":{"relayWish":true},"constructor":true,"other":1}') as JsonObject),
    ).toBe(false);
    expect(relay.told).toEqual([]);
  });

  it('that fit only together are applied in any order, and hold after a restart', async () => {
    for (const answer of [
      { rangeMax: 20, rangeMin: 10 },
      { rangeMax: 2, rangeMin: 1 },
      { rangeMax: 40, rangeMin: 30 },
    ]) {
      expect(await reconcile(answer)).toBe(true);
      expect([range, shared.refusals]).toEqual([{ min: answer.rangeMin, max: answer.rangeMax }, {}]);
      await restart();
      expect([range, shared.refusals]).toEqual([{ min: answer.rangeMin, max: answer.rangeMax }, {}]);
    }
    await reconcile({ rangeMax: 40 });
    expect(range).toEqual({ min: 1, max: 40 });
  });

  it('that do not fit together are refused once, and applied with the answer after that in which they do', async () => {
    expect(await reconcile({ rangeMin: 9 })).toBe(true);
    expect([range, Object.keys(shared.refusals)]).toEqual([{ min: 1, max: 5 }, ['rangeMin']]);
    expect(await reconcile({ rangeMin: 9 })).toBe(false);
    configuredMax = 12;
    range.max = 12;
    expect(await reconcile({ rangeMin: 9 })).toBe(true);
    expect([range, shared.refusals]).toEqual([{ min: 9, max: 12 }, {}]);
  });

  it('are refused no longer when what is in force is wished again', async () => {
    await reconcile({ periodS: 7 });
    await reconcile({ periodS: 700 });
    const before = changes;
    await reconcile({ periodS: 7 });
    expect([periodS, shared.refusals, changes - before]).toEqual([7, {}, 1]);
    await reconcile({ periodS: 7 });
    expect(changes - before).toBe(1);
  });

  it('move no actuator by what stands at the platform when the past is lost, and do by what is new', async () => {
    await reconcile({ relayWish: true });
    await actuators.set('relay', false, { by: 'local' }, never);
    await clock.advance(5_000);
    await applied.close();
    await writeFile(join(folder, 'shared.json'), '{"format":"turn');
    await actuators.close();
    await start();
    await reconcile({ relayWish: true, periodS: 7 });
    expect([relay.told, periodS, shared.refusals.relayWish]).toEqual([
      [true, false, false],
      7,
      expect.stringContaining('lost'),
    ]);
    await restart();
    await reconcile({ relayWish: true });
    expect(relay.told.slice(1)).toEqual([false, false, false]);
    await reconcile({ relayWish: false });
    await clock.advance(5_000);
    await reconcile({ relayWish: true });
    expect([relay.told.slice(4), shared.refusals]).toEqual([[false, true], {}]);
  });

  describe('of which the last was acted on and could not be noted', () => {
    const afterwards = async () => {
      const { files, moves, open } = gateInMemory();
      const before = await open();
      await before.own.reconcile({ gate: 'closed' }, never);
      await before.kept.flush();
      files.faults = {
        fail: (operation, path) =>
          operation === 'write' && path.startsWith('/state') ? { code: 'ENOSPC' } : undefined,
      };
      await before.own.reconcile({ gate: 'open' }, never);
      await before.kept.close();
      return { ...(await open()), moves };
    };

    it.each(['open', 'closed'])('move nothing after a restart, and say so, where %s is wished', async (gate) => {
      const { own, moves } = await afterwards();
      await own.reconcile({ gate }, never);
      expect([moves, own.refusals.gate]).toEqual([
        ['closed', 'open'],
        expect.stringContaining('may have been acted on'),
      ]);
    });

    it('move by what is new after that', async () => {
      const { own, moves } = await afterwards();
      await own.reconcile({ gate: 'open' }, never);
      await own.reconcile({ gate: 'half' }, never);
      expect(moves).toEqual(['closed', 'open', 'half']);
    });
  });

  describe('that move something once more with each write', () => {
    const gate = () => {
      const all = gateInMemory();
      Object.assign(all.gate, { isMovement: () => true });
      return all;
    };

    it('move nothing after a kill in the midst of it', async () => {
      const { moves, open, gate: target } = gate();
      const before = await open();
      Object.assign(target, { apply: (value: JsonValue) => new Promise<void>(() => moves.push(value)) });
      void before.own.reconcile({ gate: 5 }, never);
      await clock.advance(0);
      expect(moves).toEqual([5]);
      const { own } = await open();
      await own.reconcile({ gate: 5 }, never);
      expect(moves).toEqual([5]);
      void own.reconcile({ gate: 6 }, never);
      await clock.advance(0);
      expect(moves).toEqual([5, 6]);
    });

    it('are not tried again once a try has begun to move, and are before', async () => {
      const { moves, open, gate: target } = gate();
      let writes = 0;
      const fail = (): never => {
        throw new AgentError('actuators/program-failed', 'no paper', { recovery: 'retry' });
      };
      const { own } = await open();
      Object.assign(target, { writes: () => writes, apply: fail });
      await own.reconcile({ gate: 'dry' }, never);
      expect(own.hasWaiting).toBe(true);
      Object.assign(target, {
        apply: (value: JsonValue) => {
          writes += 1;
          moves.push(value);
          fail();
        },
      });
      await own.retryWaiting(never);
      await own.retryWaiting(never);
      await own.reconcile({ gate: 'dry' }, never);
      expect([moves, own.hasWaiting, own.refusals]).toEqual([['dry'], false, { gate: 'no paper' }]);
    });
  });

  it('believe again what was noted once a whole answer was looked at', async () => {
    const { files, moves, open } = gateInMemory();
    const live = async (wish: JsonObject): Promise<void> => {
      const { own, kept } = await open();
      await own.reconcile(wish, never);
      await kept.close();
    };
    await live({ gate: 'closed' });
    files.writeNow('/run/behind/shared.json', '');
    await live({ gate: 'closed' });
    await live({ gate: 'open' });
    expect(moves).toEqual(['closed', 'open']);
  });

  it('start without the past when its file is no longer readable, and keep the file for a person', async () => {
    await reconcile({ periodS: 7 });
    await applied.close();
    await writeFile(join(folder, 'shared.json'), '{"format":"turn');
    await actuators.close();
    await start();
    expect(periodS).toBe(10);
    await reconcile({ periodS: 7 });
    expect(periodS).toBe(7);
  });
});
