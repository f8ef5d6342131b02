/** The sentences, and who is told them: one for each thing that happens. */
import { expect, it } from 'vitest';
import { attachedDevice } from '../../test/support/attached-device-status.ts';
import { relaySettings } from '../../test/support/fake-actuator.ts';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { outputDoor } from '../../test/support/told-outputs.ts';
import type { ActuatorState } from '../actuators/kind/actuator.ts';
import { valueWord } from '../host/value-word.ts';
import type { LinkStatus } from '../link/link-words.ts';
import { spanWords } from '../names/duration.ts';
import { sentence } from '../names/sentences.ts';
import type { ContactStatus } from '../platform/contact.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import { Listeners } from '../values/listeners.ts';
import type { ToldEvent } from './event.ts';
import { namedOutput } from './named.ts';
import { tellersOf } from './tellers.ts';
import { type WatchedAgent, watchAgent } from './watch-agent.ts';
import { outputEvents } from './watch-outputs.ts';
import { configEvents, configFaultEvent, updateEvents } from './words.ts';

const { signal } = new AbortController();

function teller() {
  const told: ToldEvent[] = [];
  return {
    told,
    tell: (event: ToldEvent) => void told.push(event),
    words: () => told.splice(0).map(({ words }) => words),
  };
}

const RULE = { name: 'frost', set: { actuator: 'heater', value: true }, otherwise: false };

it('tells commands, rules, alarms and updates as their rooms tell them', () => {
  const { tell, words, told } = teller();
  // Only what a sentence is made of is there.
  const config = { sensors: [], actuators: [], rules: [RULE] } as unknown as ReturnType<
    Parameters<typeof tellersOf>[1]
  >;
  const { onCommand, onRuleEvent, onAlarm, onAlarmAcknowledged, onReported } = tellersOf(tell, () => config);
  onCommand({ method: 'setFan', params: true, reply: { result: { name: 'fan', value: true } } });
  onCommand({ method: 'pulse', params: {}, reply: { result: { name: 'fan', value: true, pulsing: true } } }, 'meter');
  onCommand({
    method: 'setActuator',
    params: { name: 'fan' },
    reply: { error: { code: 'locked-out', message: 'fan is not moved' } },
  });
  onCommand({ method: 'pulse', params: {}, reply: { error: { code: 'under-way', message: 'not yet' } } });
  onCommand({ method: 'restart', params: {}, reply: { result: {} } });
  expect(told[1]).toMatchObject({
    kind: 'command',
    by: 'rpc',
    key: 'pulse',
    device: 'meter',
    actuator: 'fan',
    value: true,
  });
  expect(words()).toEqual([
    'The platform called setFan: fan is on.',
    'The platform called pulse: fan is on, for a pulse.',
    'The platform called setActuator, and it was refused: fan is not moved.',
    'The platform called pulse, and it goes on: not yet.',
    'The platform called restart.',
  ]);
  onRuleEvent({ rule: 'frost', on: true });
  onRuleEvent({ rule: 'frost', on: false });
  onRuleEvent({ rule: 'frost', on: true, refusal: 'locked out' });
  onRuleEvent({ rule: 'frost', on: true, refusal: 'locked out', isKept: true });
  onRuleEvent({ rule: 'gone', on: false });
  expect(words()).toEqual([
    'Rule frost began: it sets heater to on.',
    'Rule frost ended: it sets heater to off.',
    'Rule frost began, and heater was not moved: locked out.',
    'Rule frost still holds, and heater was not moved: locked out.',
    'Rule gone ended.',
  ]);
  const limits = {
    raised: [{ name: 'above 40', above: 40, limit: 'above 40', sinceMs: 0 }],
    over: [{ name: 'cold', below: 5, limit: 'below 5', sinceMs: 0 }],
  };
  onAlarm({ sensor: 'roof', key: 'temperature', reading: 'temperature', device: 'self', value: 41.5, ...limits });
  expect(told[0]).toMatchObject({
    kind: 'alarm',
    sensor: 'roof',
    key: 'temperature',
    value: 41.5,
    from: 40,
    device: undefined,
  });
  expect(words()).toEqual(['Alarm: Temperature is 41.5, above 40.', 'The alarm is over: Temperature is 41.5 (cold).']);
  const alarm = { sensor: 'roof', key: 'temperature', reading: 'temperature', device: 'meter', alarms: limits.raised };
  for (const by of ['platform', 'local', 'page'] as const) onAlarmAcknowledged({ ...alarm, by });
  expect(told[0]).toMatchObject({ kind: 'alarm', sensor: 'roof', key: 'temperature', device: 'meter', by: 'platform' });
  expect(words()).toEqual([
    'The platform acknowledged the alarm: Temperature, above 40.',
    'A person at the device acknowledged the alarm: Temperature, above 40.',
    'Somebody on the page acknowledged the alarm: Temperature, above 40.',
  ]);
  onCommand({ method: 'acknowledgeAlarm', params: { name: 'hot' }, reply: { result: [] } });
  expect([told[0]?.actuator, words()]).toEqual([undefined, ['The platform called acknowledgeAlarm.']]);
  const update = { title: 'turnstone', version: '2', from: '1', startedAtMs: 0, reason: 'no contact within its trial' };
  for (const reported of ['DOWNLOADING', 'DOWNLOADED', 'UPDATED', 'FAILED'])
    onReported('firmware', { running: '1', state: 'idle', history: [], reported, update });
  expect(words()).toEqual([
    'The update to turnstone 2 began: it is downloaded.',
    'The update to turnstone 2 is done and confirmed.',
    'The update to turnstone 2 failed: no contact within its trial; 1 goes on.',
  ]);
  expect(updateEvents('firmware', {})).toEqual([]);
  expect(updateEvents('firmware', { reported: 'UPDATED', update: { ...update, isThere: true } })).toEqual([]);
  expect(updateEvents('software', { reported: 'FAILED', update: { ...update, from: 'unknown' } })).toMatchObject([
    { words: 'The update to turnstone 2 failed: no contact within its trial.' },
  ]);
});

it('calls outputs, rules, readings and alarms as their labels do, and their states by their class', () => {
  const { tell, words, told } = teller();
  // Only what a sentence is made of is there.
  const config = {
    sensors: [{ name: 'hall', keys: { state: { label: 'Hall door', class: 'door' } } }],
    actuators: [{ name: 'heater', label: 'Boiler', class: 'heater' }],
    rules: [{ ...RULE, label: 'Keep the frost out' }],
  } as unknown as ReturnType<Parameters<typeof tellersOf>[1]>;
  const { onCommand, onRuleEvent, onAlarm } = tellersOf(tell, () => config);
  onCommand({ method: 'setHeater', params: true, reply: { result: { name: 'heater', value: true } } });
  onRuleEvent({ rule: 'frost', on: false });
  const open = { name: 'open', label: 'Door stands open', equal: true, limit: 'equal to on', sinceMs: 0 };
  onAlarm({ sensor: 'hall', key: 'doorOpen', reading: 'state', device: 'self', value: true, raised: [open], over: [] });
  expect(told[2]).toMatchObject({ sensor: 'hall', key: 'doorOpen', by: 'open' });
  expect(words()).toEqual([
    'The platform called setHeater: Boiler is heating.',
    'Rule Keep the frost out ended: it sets Boiler to idle.',
    'Alarm: Hall door is open, equal to on (Door stands open).',
  ]);
  const state = { value: false, slot: 'limit', pulsing: false } as Parameters<typeof outputEvents>[1];
  expect(
    outputEvents('heater', { ...state, value: true, slot: 'rule' }, state, namedOutput(config, 'heater')),
  ).toMatchObject([{ actuator: 'heater', words: 'Boiler is idle: its longest time on has ended.' }]);
});

it('tells a configuration that was taken up, or was not', () => {
  const config = { rules: [{ name: 'frost', label: 'Keep the frost out' }] as never };
  expect(configEvents({ changed: [], needRestart: [] }, { rules: [] })).toEqual([]);
  expect(configEvents({ changed: ['rules', 'rpc'], needRestart: ['rpc'] }, { rules: [] })[0]?.words).toBe(
    'The changed configuration was read: rules, rpc; a restart takes up what changed in rpc.',
  );
  expect(configEvents({ changed: ['log', 'rules'], needRestart: [], rules: ['frost', 'fill'] }, config)[0]?.words).toBe(
    'The changed configuration was read: log, rules (Keep the frost out, fill).',
  );
  expect(configFaultEvent('line 3').words).toBe(
    'The changed configuration is not taken up, and nothing changes: line 3',
  );
});

it('writes values and spans as people do', () => {
  expect([true, false, null, undefined, 20.5, 'open', { a: 1 }].map(valueWord)).toEqual([
    'on',
    'off',
    'unknown',
    'unknown',
    '20.5',
    'open',
    '{"a":1}',
  ]);
  expect([0, 1_499, 90_000, 7_261_000].map(spanWords)).toEqual(['1s', '1s', '1m30s', '2h1m']);
});

it('tells of outputs what neither a command nor a rule does', () => {
  const off = { value: false, desired: false, by: undefined, pulsing: false, fault: undefined, slot: 'base' } as const;
  const on = { ...off, value: true, slot: 'operator' };
  const between = (...[before, now]: [Parameters<typeof outputEvents>[1], Parameters<typeof outputEvents>[1]]) =>
    outputEvents('pump', before, now, namedOutput({ actuators: [] }, 'pump')).map(({ words }) => words);
  expect(between(on, { ...off, slot: 'limit' })).toEqual(['pump is off: its longest time on has ended.']);
  expect(between(on, { ...off, slot: 'noContact' })).toEqual(['pump is off: there is no contact with the platform.']);
  expect(between({ ...off, slot: 'noContact' }, on)).toEqual([
    'pump is on: contact is back, and its state without contact is over.',
  ]);
  expect(between({ ...on, pulsing: true }, off)).toEqual(['pump is off: its pulse has ended.']);
  expect(between(on, { ...off, by: 'safe-state' })).toEqual(['pump is off: its safe state was set.']);
  expect(between(off, { ...on, by: 'shared' })).toEqual(['A shared attribute of the platform set it: pump is on.']);
  expect(between(off, { ...off, fault: 'no answer' })).toEqual(['pump has a fault: no answer.']);
  expect(between({ ...off, fault: 'no answer' }, off)).toEqual(['pump is off: its fault is over.']);
  expect(between(off, { ...on, by: 'rpc' })).toEqual([]);
});

it('tells what a person at the device moves, and what is refused to them', async () => {
  const { tell, words } = teller();
  const pump = { name: 'pump', desired: undefined, by: 'local', pulsing: false, fault: undefined } as const;
  const { ask } = outputDoor(
    'site',
    {
      settings: (name) => relaySettings(name, { valueType: 'number' }),
      check: (_name, value) => value as number,
      set: async (_name, value) => {
        if (value === 9) throw new Error('pump goes up to 5');
        return { ...pump, value: value as number };
      },
      release: async () => ({ ...pump, value: 0 }),
    },
    tell,
  );
  await ask('setActuator', { name: 'pump', value: 3 }, signal);
  await ask('releaseActuator', { name: 'pump' }, signal);
  await expect(ask('setActuator', { name: 'pump', value: 9 }, signal)).rejects.toThrow('up to 5');
  await expect(ask('pulse', { name: 'pump', durationMs: 9 }, signal)).rejects.toThrow('cannot be asked for here');
  expect(words()).toEqual([
    'A person at the device set pump: it is 3.',
    'A person at the device released pump: it is 0.',
    'A person at the device wanted pump to be 9, and it was refused: pump goes up to 5.',
  ]);
});

it('calls an output that a person moves as its label does, and its states by its class', async () => {
  const { tell, told, words } = teller();
  const actuators = [{ name: 'heater', label: 'Boiler', class: 'heater' }] as never;
  const { ask } = outputDoor(
    'page',
    {
      settings: (name) => relaySettings(name),
      check: (_name, value) => {
        if (value === true) throw new Error('it is too hot');
        return value as boolean;
      },
      set: async () =>
        ({ name: 'heater', value: false, desired: undefined, by: 'page', pulsing: false, fault: undefined }) as never,
    },
    tell,
    { namedOutput: (name) => namedOutput({ actuators }, name) },
  );
  await ask('setActuator', { name: 'heater', value: false }, signal);
  await expect(ask('setActuator', { name: 'heater', value: true }, signal)).rejects.toThrow('too hot');
  expect(told.map(({ actuator }) => actuator)).toEqual(['heater', 'heater']);
  expect(words()).toEqual([
    'Somebody on the page set Boiler: it is idle.',
    'Somebody on the page wanted Boiler to be heating, and it was refused: it is too hot.',
  ]);
});

function watched() {
  const clock = new FakeClock();
  const contact = new Listeners<[ContactStatus]>();
  const sync = new Listeners<[]>();
  const config = new Listeners<[never]>();
  const outputs = new Listeners<[ActuatorState]>();
  const now = {
    isLocked: false,
    devices: [attachedDevice({ name: 'meter' })] as DeviceStatus[],
    overrides: {},
    correctionMs: 0,
    step: 'everything' as LinkStatus['step'],
  };
  const { tell, words } = teller();
  const pump = { name: 'pump', value: true, desired: true, by: 'rpc', pulsing: false, fault: undefined } as const;
  const parts = {
    clock,
    actuators: {
      control: { states: () => [pump], onState: outputs.add, find: () => undefined, foundAtStart: () => true },
      lockout: {
        get locked() {
          return now.isLocked;
        },
      },
    },
    contact: { onChange: contact.add },
    timeSync: { onChange: sync.add, isSynchronised: () => true, correctionMs: () => now.correctionMs },
    live: {
      current: { actuators: [] },
      onChange: config.add,
      get overridesAsSet() {
        return now.overrides;
      },
    },
    link: () => ({ step: now.step }),
    devices: () => now.devices,
    // Only what is asked for is there.
  } as unknown as WatchedAgent;
  const end = watchAgent(parts, tell);
  return { clock, contact, sync, config, outputs, now, words, pump, end };
}

it('listens to the contact, and says for how long it was lost', async () => {
  const { clock, contact, words } = watched();
  contact.tell({ state: 'reached', sinceMs: clock.monotonicMs() });
  const lost = {
    state: 'lost',
    sinceMs: clock.monotonicMs(),
    reason: 'unavailable',
    problem: 'it does not answer',
    sentence: sentence('contactFault', { problem: 'it does not answer', remedy: 'wait' }),
  } as const;
  contact.tell(lost);
  await clock.advance(60_000);
  const none = sentence('contactFault', { problem: 'no network', remedy: 'wait' });
  contact.tell({ ...lost, reason: 'no-network', sentence: none });
  await clock.advance(30_000);
  contact.tell({ state: 'reached', sinceMs: clock.monotonicMs() });
  expect(words()).toEqual([
    'The platform is reached.',
    'No contact with the platform: it does not answer; wait.',
    'No contact with the platform: no network; wait.',
    'The platform is reached again, after 1m30s.',
  ]);
});

it('listens to the clock, to settings from afar and to outputs', () => {
  const { sync, config, outputs, now, words, pump } = watched();
  sync.tell();
  now.correctionMs = 5;
  sync.tell();
  now.overrides = { 'log.level': 'debug' };
  config.tell(undefined as never);
  config.tell(undefined as never);
  now.overrides = {};
  config.tell(undefined as never);
  outputs.tell({ ...pump, fault: 'no answer' });
  expect(words()).toEqual([
    'The clock is right.',
    "The platform's dates stand in for the clock, which nobody has set.",
    'The platform set log.level to debug.',
    'The platform took back what it had set of log.level.',
    'pump has a fault: no answer.',
  ]);
});

it('looks at the steps of the link, down and up', async () => {
  const { clock, now, words } = watched();
  for (const step of ['commands-at-wakes', 'commands-at-wakes', 'alarms-only', 'everything'] as const) {
    now.step = step;
    await clock.advance(6_000);
  }
  expect(words()).toEqual([
    'The link spares what is left of its month: commands and shared attributes come at wakes.',
    'The link spares what is left of its month: only alarms are sent, and no command comes.',
    'The link carries everything again.',
  ]);
});

it('looks at the lockout, steps of the clock and devices, and no longer once it ends', async () => {
  const { clock, now, words, end } = watched();
  await clock.advance(6_000);
  expect(words()).toEqual([]);
  now.isLocked = true;
  clock.stepWall(90_000);
  now.devices = [
    attachedDevice({ name: 'meter', state: 'blocked', reason: 'its token is refused' }),
    attachedDevice({ id: 'b', name: 'valve', slots: ['v'] }),
  ];
  await clock.advance(6_000);
  expect(words()).toEqual([
    'Remote control is locked out at the device: nothing is switched on from afar.',
    'The clock was set forward by 1m30s.',
    'The platform refuses the device meter: its token is refused.',
    'A new device is there: valve, in the slot v.',
  ]);
  now.isLocked = false;
  clock.stepWall(-3_000);
  now.devices = [attachedDevice({ name: 'meter' }), attachedDevice({ id: 'b', name: 'valve', state: 'removed' })];
  await clock.advance(6_000);
  expect(words()).toEqual([
    'The lockout at the device is over: commands from afar move outputs again.',
    'The clock was set back by 3s.',
    'The platform takes the device meter again.',
    'The device valve is in no slot any more.',
  ]);
  end();
  now.isLocked = true;
  await clock.advance(20_000);
  expect(words()).toEqual([]);
});
