import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { declaredActuatorMethods, widgetMethods } from '../../../src/actuators/declared-methods.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import type { RpcMethodConfig } from '../../../src/config/schema/agent-config.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { type Operation, operationsOn } from '../../../src/operations/operation.ts';
import { type ActuatorCalls, OUTPUT_OPERATIONS } from '../../../src/operations/output-operations.ts';
import { RESTART_OPERATIONS } from '../../../src/operations/restart-operations.ts';
import { type ReadNow, SENSOR_OPERATIONS } from '../../../src/operations/sensor-operations.ts';
import { SETTING_OPERATIONS } from '../../../src/operations/setting-operations.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { programMethods } from '../../../src/rpc/program-methods.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openFirmwareUpdates } from '../../support/firmware-updates-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
let clock: FakeClock;
let control: ActuatorControl;
const DIMMER = relaySettings('dimmer', { valueType: 'number', limits: { min: 0, max: 100 } });
/** Switched off in the configuration: it is not opened. */
const HEATER = relaySettings('heater');
let relay: FakeActuator;
let dimmer: FakeActuator;
let ends: string[];

beforeEach(async () => {
  clock = new FakeClock();
  relay = new FakeActuator();
  dimmer = new FakeActuator(0);
  ends = [];
  const file = new StateFile({
    ...OUTPUTS_FORMAT,
    path: '/state/a.json',
    log: silentLog,
    files: new MemoryFiles(),
    clock,
  });
  const actuators = [
    { settings: relaySettings('relay'), driver: relay },
    { settings: DIMMER, driver: dimmer },
    { settings: relaySettings('printer', { valueType: 'string', idempotent: false }), driver: new FakeActuator('') },
  ];
  const pulseMarks = await PulseMarks.open(await mkdtemp(join(tmpdir(), 'turnstone-methods-')), silentLog, {
    files: systemFiles,
    bootId: clock.bootId,
  });
  const outputs = await OutputFile.open(file, clock);
  control = await ActuatorControl.open(
    { actuators, memory: new ActuatorMemory({ outputs, pulseMarks }), locked: () => false, clock, log: silentLog },
    never,
  );
});

const method = (methods: readonly Operation[], name: string): Operation => {
  const found = methods.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no method ${name}`);
  return found;
};
const effectOf = ({ effect }: Operation, params: JsonValue): string =>
  typeof effect === 'function' ? effect(params) : effect;

async function call(methods: readonly Operation[], name: string, params: JsonValue): Promise<JsonValue> {
  const one = method(methods, name);
  const note = one.prepare?.(params, 'platform');
  return await one.run(params, { asker: 'platform', note, signal: never });
}

describe('methods of actuators', () => {
  it('are absolute where setting twice is setting once, and movements where it is not', () => {
    const methods = operationsOn(OUTPUT_OPERATIONS, control);
    expect(effectOf(method(methods, 'setActuator'), { name: 'relay', value: true })).toBe('set');
    expect(effectOf(method(methods, 'setActuator'), { name: 'printer', value: 'x' })).toBe('move');
    expect(effectOf(method(methods, 'getActuator'), { name: 'relay' })).toBe('read');
    for (const name of ['pulse', 'toggle']) expect(effectOf(method(methods, name), { name: 'relay' })).toBe('move');
  });

  it('set, read, pulse and toggle', async () => {
    const methods = operationsOn(OUTPUT_OPERATIONS, control);
    expect(await call(methods, 'setActuator', { name: 'dimmer', value: 30 })).toEqual({
      name: 'dimmer',
      value: 30,
      by: 'rpc',
    });
    dimmer.shown = 31;
    expect(await call(methods, 'getActuator', { name: 'dimmer' })).toMatchObject({ value: 31 });
    const pulsing = call(methods, 'pulse', { name: 'relay', durationMs: 20 });
    await clock.advance(20);
    expect(await pulsing).toMatchObject({ value: false });
    expect(await call(methods, 'toggle', { name: 'relay' })).toMatchObject({ value: true });
    expect(relay.told).toEqual([true, false, true]);
  });

  it('hold a value for a time, tell why, and take it back, also under lockout', async () => {
    const methods = operationsOn(OUTPUT_OPERATIONS, control);
    await call(methods, 'setActuator', { name: 'dimmer', value: 30, for: '2h' });
    expect(await call(methods, 'getActuator', { name: 'dimmer' })).toMatchObject({
      why: '30, because the operator (rpc) said so 0 s ago, for 2h more',
      slots: [{ slot: 'operator', value: 30, by: 'rpc', sinceS: 0 }],
    });
    expect(method(methods, 'releaseActuator').moves).toBe(false);
    await call(methods, 'releaseActuator', { name: 'dimmer' });
    expect(await call(methods, 'getActuator', { name: 'dimmer' })).toMatchObject({
      value: 30,
      why: "as it was: nothing says what it should be; operator's 30 (rpc) ended by a release 0 s ago",
    });
  });

  it.each(['soon', '0s', '-1h'])('take no time that is %s', (time) => {
    const set = method(operationsOn(OUTPUT_OPERATIONS, control), 'setActuator');
    expect(() => set.prepare?.({ name: 'dimmer', value: 30, for: time }, 'platform')).toThrow('for is a time');
  });

  it('refuse before anything is written down', () => {
    const methods = operationsOn(OUTPUT_OPERATIONS, control);
    const prepare = (name: string, params: JsonValue) => (): unknown =>
      method(methods, name).prepare?.(params, 'platform');
    expect(prepare('setActuator', { name: 'dimmer', value: 101 })).toThrow('dimmer takes 0 to 100');
    expect(prepare('setActuator', { name: 'none', value: 1 })).toThrow('there is no actuator none');
    expect(prepare('pulse', { name: 'dimmer', durationMs: 5 })).toThrow('dimmer cannot be pulsed');
    expect(prepare('toggle', { name: 'dimmer' })).toThrow('dimmer is neither on nor off');
  });

  it('can tell after a crash whether a toggle had happened, by what the hardware showed at start', async () => {
    const toggle = method(operationsOn(OUTPUT_OPERATIONS, control), 'toggle');
    expect(toggle.prepare?.({ name: 'relay' }, 'platform')).toEqual({ from: false, to: true });
    expect(await toggle.recover?.({ from: false, to: true }, { name: 'relay' })).toEqual({
      name: 'relay',
      value: false,
      interrupted: true,
      moved: false,
    });
    expect(await toggle.recover?.({ from: true, to: false }, { name: 'relay' })).toMatchObject({ moved: true });
    expect(await toggle.recover?.({}, { name: 'relay' })).toBeUndefined();
    await control.set('relay', true, { by: 'safe-state' }, new AbortController().signal);
    expect(await toggle.recover?.({ from: false, to: true }, { name: 'relay' })).toMatchObject({
      value: true,
      moved: false,
    });
    const unreadable = {
      ...control,
      foundAtStart: () => undefined,
      settings: control.settings.bind(control),
    } as unknown as ActuatorControl;
    expect(
      await method(operationsOn(OUTPUT_OPERATIONS, unreadable), 'toggle').recover?.({ to: true }, { name: 'relay' }),
    ).toBeUndefined();
  });

  it.each([
    ['a state for a crash', { safe: { crash: false } }, {}, [undefined, true]],
    ['a state for a crash that is on', { safe: { crash: true } }, {}, [false, undefined]],
    ['a state for a stop', { safe: { stop: false } }, {}, [undefined, true]],
    ['a longest time on', { limits: { maxOnMs: 60_000 } }, {}, [undefined, true]],
    ['a mark that it is to be switched off', {}, { marked: true }, [undefined, true]],
    ['none of it', { safe: { start: false, noContact: { afterMs: 60_000, value: false } } }, {}, [false, true]],
  ])(
    'cannot tell it where the stop hook may have set what was found: with %s',
    async (_what, changes, marked, moved) => {
      const told = [false, true].map((found) => {
        const door = {
          foundAtStart: () => found,
          settings: () => relaySettings('relay', changes),
          state: () => ({
            name: 'relay',
            value: found,
            desired: undefined,
            by: undefined,
            pulsing: false,
            fault: undefined,
          }),
        } as Partial<ActuatorCalls> as ActuatorCalls;
        return method(operationsOn(OUTPUT_OPERATIONS, door), 'toggle').recover?.(
          { from: !found, to: true, ...marked },
          { name: 'relay' },
        );
      });
      expect(told.map((one) => (one as { moved?: boolean } | undefined)?.moved)).toEqual(moved);
    },
  );

  it('notes of a toggle that the output was to be switched off at any rate', async () => {
    const toggle = method(operationsOn(OUTPUT_OPERATIONS, control), 'toggle');
    await control.set('relay', false, { by: 'rpc' }, never);
    expect(toggle.prepare?.({ name: 'relay' }, 'platform')).toEqual({ from: false, to: true });
    const pulse = control.pulse('relay', { durationMs: 30_000, by: 'rpc' }, never);
    await clock.advance(0);
    await pulse;
    expect(toggle.prepare?.({ name: 'relay' }, 'platform')).toEqual({ from: true, to: false, marked: true });
    await control.set('relay', true, { by: 'rpc' }, never);
    expect(toggle.prepare?.({ name: 'relay' }, 'platform')).toEqual({ from: true, to: false });
    relay.write = async () => {};
    await control.set('relay', false, { by: 'rpc' }, never).catch(() => {});
    expect(toggle.prepare?.({ name: 'relay' }, 'platform')).toEqual({ from: true, to: false, marked: true });
    await control.close();
  });
});

describe('built-in methods', () => {
  it('refuse a reboot where no root helper is installed, and leave no request for a later one', async () => {
    const files = new MemoryFiles();
    const firmware = await openFirmwareUpdates({}, { files });
    const restarts = {
      restart: () => {},
      expectReboots: () => firmware.expectReboots(),
      reboot: () => firmware.reboot(),
    };
    const methods = operationsOn(RESTART_OPERATIONS, restarts);
    await expect(call(methods, 'reboot', {})).rejects.toMatchObject({ code: 'firmware/no-helper' });
    files.put('/opt/turnstone/guard/root-helper.mjs', 'program');
    expect(await call(methods, 'reboot', {})).toEqual({ accepted: true });
  });

  it('end the process only after the reply', async () => {
    const readNow: ReadNow['readNow'] = async (name) => [
      { key: 'temperature', value: 21, unit: '°C', takenAtMs: 5 },
      { key: name, value: 2n ** 60n },
    ];
    const methods = [
      ...operationsOn(SENSOR_OPERATIONS, { readNow, asSent: () => [] }),
      ...operationsOn(SETTING_OPERATIONS, {
        live: { set: (_key, level) => void ends.push(String(level)) },
        log: { level: 'info' },
      }),
      ...operationsOn(RESTART_OPERATIONS, {
        restart: () => ends.push('restart'),
        expectReboots: async () => {},
        reboot: () => ends.push('reboot'),
      }),
    ];
    for (const name of ['restart', 'reboot']) {
      expect(await call(methods, name, {})).toEqual({ accepted: true });
      expect(effectOf(method(methods, name), {})).toBe('move');
    }
    expect(ends).toEqual([]);
    method(methods, 'reboot').afterReply?.();
    expect(ends).toEqual(['reboot']);
    expect(await call(methods, 'readSensor', { name: 'roof' })).toEqual([
      { key: 'temperature', value: 21, unit: '°C' },
      { key: 'roof', value: 2n ** 60n },
    ]);
    expect(await call(methods, 'setLogLevel', { level: 'debug' })).toEqual({ level: 'debug' });
  });
});

describe('declared methods', () => {
  const config = (changes: Partial<RpcMethodConfig>): RpcMethodConfig => ({
    enabled: true,
    read: false,
    deadlineMs: 1_000,
    ...changes,
  });
  const declare = (configs: Record<string, RpcMethodConfig>): readonly Operation[] => [
    ...declaredActuatorMethods(configs, [relaySettings('relay'), DIMMER, HEATER], control),
    ...programMethods(configs, { clock, runProgram }),
  ];

  it('take what their actuator takes, bare or as {value}, and tell its shape', async () => {
    const methods = declare({ dim: config({ actuator: 'dimmer' }), off: config({ actuator: 'dimmer', value: 0 }) });
    expect(method(methods, 'dim').params).toMatchObject({
      description: expect.stringContaining('a number'),
      maximum: 100,
    });
    for (const params of [40, { value: 50 }])
      expect(await call(methods, 'dim', params)).toMatchObject({ value: typeof params === 'number' ? 40 : 50 });
    expect(await call(methods, 'off', { value: 99 })).toMatchObject({ value: 0 });
    expect(dimmer.told).toEqual([40, 50, 0]);
    await expect(call(methods, 'dim', { enabled: true })).rejects.toMatchObject({
      code: 'actuators/wrong-type',
      message: 'dimmer takes a number, bare or as {"value": 42}; it was given {"enabled":true}',
    });
    for (const params of ['35.5', { value: ' 36 ' }, 'off']) await call(methods, 'dim', params);
    expect(dimmer.told).toEqual([40, 50, 0, 35.5, 36, 0]);
    const { moves, effect } = method(methods, 'dim');
    // Off in any spelling passes lockout and waits for no journal.
    expect([typeof moves === 'function' && moves('off'), typeof effect === 'function' && effect('OFF')]).toEqual([
      false,
      'set',
    ]);
  });

  it('are judged by the value that they set, however it is spelt', () => {
    const methods = declare({ dim: config({ actuator: 'dimmer' }) });
    const allowed = { type: ['number', 'object'], maximum: 50, properties: { value: { maximum: 50 } } } as const;
    const table = new MethodTable({ clock, methods, permissions: { dim: { allowed } }, locked: () => false });
    for (const params of [60, '60', ' 6e1 ', { value: 60 }, { value: '60' }])
      expect(() => table.admit('dim', params)).toThrow(/at most 50 is allowed/);
    for (const params of [40, '40', { value: '40' }, 'off']) expect(table.admit('dim', params).name).toBe('dim');
    expect(() => table.admit('dim', '101')).toThrow(/at most 100 is allowed/);
  });

  it('are there by the widgets’ names for the only output, unless somebody has declared them', () => {
    const dimming = relaySettings('dimmer', { valueType: 'number' });
    const display = relaySettings('display', { valueType: 'string' });
    const own = { setValue: config({ actuator: 'relay' }) };
    const made = widgetMethods(own, [dimming, display]);
    expect(Object.keys(made).sort()).toEqual(['checkStatus', 'getState', 'getValue', 'setState', 'setValue']);
    expect([made.getValue, made.setState, made.setValue]).toMatchObject([
      { actuator: 'dimmer', read: true },
      { actuator: 'dimmer', read: false },
      own.setValue,
    ]);
    expect(widgetMethods(own, [dimming, relaySettings('relay')])).toBe(own);
    expect(widgetMethods({}, [display])).toEqual({});
  });

  it('are there for an actuator that is switched off, with its shape; a call says that there is none', async () => {
    const methods = declare({
      heat: config({ actuator: 'heater' }),
      flash: config({ actuator: 'heater', pulseMs: 30 }),
    });
    expect(method(methods, 'heat').params).toMatchObject({ description: expect.stringContaining('true or false') });
    const told = { code: 'actuators/unknown', message: 'there is no actuator heater' };
    for (const [name, params] of [
      ['heat', true] as const,
      ['heat', { value: false }] as const,
      ['flash', {}] as const,
    ]) {
      expect(() => method(methods, name).prepare?.(params, 'platform')).toThrow(told.message);
      await expect(call(methods, name, params)).rejects.toMatchObject(told);
    }
  });

  it('pulse for as long as is declared, whatever the request says', async () => {
    const methods = declare({ open: config({ actuator: 'relay', pulseMs: 30 }) });
    const pulsing = call(methods, 'open', { durationMs: 60_000 });
    await clock.advance(30);
    expect([await pulsing, relay.told]).toMatchObject([{ value: false }, [true, false]]);
    expect(effectOf(method(methods, 'open'), {})).toBe('move');
  });

  it('run programs as movements unless twice does no harm', () => {
    const command = { program: '/bin/true', arguments: [], idempotent: false, json: false };
    const methods = declare({
      once: config({ command }),
      often: config({ command: { ...command, idempotent: true, json: false } }),
    });
    expect([effectOf(method(methods, 'once'), {}), effectOf(method(methods, 'often'), {})]).toEqual(['move', 'set']);
    expect(method(methods, 'once').moves).toBe(true);
  });

  it('only permit when they name a built-in one', () => {
    const configs = { pulse: config({ enabled: false, mostPerMinute: 3 }) };
    expect(declare(configs)).toEqual([]);
    const table = new MethodTable({
      clock,
      methods: operationsOn(OUTPUT_OPERATIONS, control),
      permissions: configs,
      locked: () => false,
    });
    expect(() => table.admit('pulse', { name: 'relay', durationMs: 5 })).toThrow('switched off in the configuration');
  });

  it('switch off without waiting for a journal or a lockout, whatever the actuator', () => {
    const methods = [
      ...operationsOn(OUTPUT_OPERATIONS, control),
      ...declare({ stop: config({ actuator: 'dimmer', value: 0 }) }),
    ];
    expect(effectOf(method(methods, 'setActuator'), { name: 'printer', value: '' })).toBe('set');
    const table = new MethodTable({ clock, methods, permissions: {}, locked: () => true });
    for (const [name, value] of [
      ['relay', false],
      ['dimmer', 0],
      ['printer', ''],
    ] as const)
      expect(table.admit('setActuator', { name, value }).name).toBe('setActuator');
    expect(table.admit('stop', {}).name).toBe('stop');
    for (const [name, value] of [
      ['relay', true],
      ['dimmer', 1],
      ['printer', 'x'],
    ] as const)
      expect(() => table.admit('setActuator', { name, value })).toThrow('the machine is locked out');
    for (const name of ['pulse', 'toggle']) expect(() => table.admit(name, { name: 'relay', durationMs: 5 })).toThrow();
  });

  it('toggle to off under lockout, and not to on', async () => {
    const table = new MethodTable({
      clock,
      methods: operationsOn(OUTPUT_OPERATIONS, control),
      permissions: {},
      locked: () => true,
    });
    expect(() => table.admit('toggle', { name: 'relay' })).toThrow('the machine is locked out');
    await control.set('relay', true, { by: 'local' }, never);
    expect(table.admit('toggle', { name: 'relay' }).name).toBe('toggle');
    expect(await call(operationsOn(OUTPUT_OPERATIONS, control), 'toggle', { name: 'relay' })).toMatchObject({
      value: false,
    });
  });

  it('may not take a built-in name for something else', () => {
    const methods = [...operationsOn(OUTPUT_OPERATIONS, control), ...declare({ pulse: config({ actuator: 'relay' }) })];
    expect(() => new MethodTable({ clock, methods, permissions: {}, locked: () => false })).toThrow('is there twice');
  });
});
