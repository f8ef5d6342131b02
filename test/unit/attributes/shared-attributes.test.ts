import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { DESIRED_STATES_FORMAT, DesiredStates } from '../../../src/actuators/desired-states.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../../../src/attributes/applied-values.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { actuatorTarget, type LiveSetting, settingTarget } from '../../../src/attributes/shared-target.ts';
import type { JsonObject, JsonValue } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/host/state-file.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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

const period: LiveSetting = {
  key: 'periodS',
  shape: { type: 'number', minimum: 1, maximum: 60 },
  apply: (value) => {
    periodS = value ?? 10;
  },
  effective: () => periodS,
};

/** A new process: everything that is not on disk is gone. */
async function start(): Promise<void> {
  periodS = 10;
  offers = [];
  const desired = await DesiredStates.open(
    new StateFile({ ...DESIRED_STATES_FORMAT, path: join(folder, 'actuators.json'), log: silentLog }),
    clock,
  );
  const settings = relaySettings('relay', { limits: { leastOffMs: 5_000 } });
  actuators = await ActuatorControl.open(
    {
      actuators: [{ settings, driver: relay }],
      memory: new ActuatorMemory({ desired, pulseMarks: await PulseMarks.open(folder, silentLog) }),
      locked: () => locked,
      clock,
      log: silentLog,
    },
    never,
  );
  applied = await AppliedValues.open(new StateFile({ ...APPLIED_VALUES_FORMAT, path: join(folder, 'shared.json'), log: silentLog }));
  const targets = [actuatorTarget('relayWish', 'relay', actuators), settingTarget(period)];
  const deps = { targets: () => targets, applied, firmwareKeys: ['fw_title', 'fw_version'], log: silentLog, onChange: () => {} };
  shared = await SharedAttributes.open({ ...deps, onFirmwareOffer: (offer) => offers.push(offer) }, never);
}

async function restart(): Promise<void> {
  await applied.flush();
  await actuators.close();
  await start();
}

const reconcile = (answer: JsonObject): Promise<boolean> => shared.reconcile(answer, never);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-shared-'));
  clock = new FakeClock({ monotonicMs: 1_000_000 });
  locked = false;
  relay = new FakeActuator();
  await start();
});
afterEach(async () => {
  await applied.flush();
  await actuators.close();
  await rm(folder, { recursive: true });
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
    await restart();
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false]);
    await clock.advance(5_000);
    await reconcile({ relayWish: false });
    await reconcile({ relayWish: true });
    expect(relay.told).toEqual([true, false, false, true]);
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
      await reconcile({ periodS: value, relayWish: 'on' });
      expect(periodS).toBe(7);
      expect(Object.keys(shared.refusals)).toEqual(['relayWish', 'periodS']);
    }
    expect(shared.refusals.periodS).toBe('periodS is 9007199254740993, at most 60 is allowed');
    await reconcile({ periodS: 8 });
    expect([periodS, shared.refusals, relay.told]).toEqual([8, {}, []]);
  });

  it('that fitted once and no longer do after a change of the configuration are refused at start', async () => {
    await reconcile({ periodS: 7 });
    await applied.flush();
    await writeFile(
      join(folder, 'shared.json'),
      JSON.stringify({
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
    await reconcile({ periodS: 5 });
    await reconcile({ fw_title: 'a', fw_version: '1' });
    await reconcile({ fw_title: 'a', fw_version: '1', periodS: 6 });
    await reconcile({ fw_title: 'a', fw_version: '2' });
    await reconcile({});
    expect(offers).toEqual([{ fw_title: 'a', fw_version: '1' }, { fw_title: 'a', fw_version: '2' }, {}]);
  });

  it('are asked for by every key there is, and unknown ones in an answer are nobody’s', async () => {
    expect(shared.keys).toEqual(['relayWish', 'periodS', 'fw_title', 'fw_version']);
    expect(await reconcile(JSON.parse('{"__proto__":{"relayWish":true},"constructor":true,"other":1}') as JsonObject)).toBe(false);
    expect(relay.told).toEqual([]);
  });

  it('start without the past when its file is no longer readable, and keep the file for a person', async () => {
    await reconcile({ periodS: 7 });
    await applied.flush();
    await writeFile(join(folder, 'shared.json'), '{"format":"turn');
    await actuators.close();
    await start();
    expect(periodS).toBe(10);
    await reconcile({ periodS: 7 });
    expect(periodS).toBe(7);
  });
});
