/** Shapes of methods, exactly: what `listMethods` tells is what is checked, and programs and sensors do what is declared. */

import { beforeEach, describe, expect, it } from 'vitest';
import { declaredActuatorMethods } from '../../../src/actuators/declared-methods.ts';
import type { RpcMethodConfig } from '../../../src/config/schema/agent-config.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { mayAsk } from '../../../src/operations/may-ask.ts';
import { type Operation, operationsOn } from '../../../src/operations/operation.ts';
import { OUTBOX_OPERATIONS } from '../../../src/operations/outbox-operations.ts';
import { type ActuatorCalls, OUTPUT_OPERATIONS, stateAsJson } from '../../../src/operations/output-operations.ts';
import { RESTART_OPERATIONS } from '../../../src/operations/restart-operations.ts';
import { declaredSensorMethods, type ReadNow, SENSOR_OPERATIONS } from '../../../src/operations/sensor-operations.ts';
import { SETTING_OPERATIONS } from '../../../src/operations/setting-operations.ts';
import { STATUS_OPERATIONS } from '../../../src/operations/status-operations.ts';
import type { KeptPlaces } from '../../../src/outbox/outbox.ts';
import { type MethodPermission, MethodTable } from '../../../src/rpc/method-table.ts';
import { programMethods } from '../../../src/rpc/program-methods.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ANY = ['boolean', 'number', 'string', 'object'];
const BARE_OR_WRAPPED = 'a number, bare or as {"value": 42}';
const never = new AbortController().signal;
const config = (changes: Partial<RpcMethodConfig>): RpcMethodConfig => ({
  enabled: true,
  read: false,
  deadlineMs: 1_000,
  ...changes,
});

const QUIET = { desired: undefined, value: undefined, by: undefined, pulsing: false, fault: undefined } as const;

/** Actuators that take what they are given, and say what was asked of them. */
class Door implements Pick<ActuatorCalls, 'set' | 'pulse' | 'read' | 'settings'> {
  asked: unknown[] = [];
  set: ActuatorCalls['set'] = async (name, value, { by }) => {
    this.asked.push(['set', name, value, by]);
    return { ...QUIET, name, value: typeof value === 'number' ? value : undefined };
  };
  pulse: ActuatorCalls['pulse'] = async (name, { durationMs, by }) => {
    this.asked.push(['pulse', name, durationMs, by]);
    return { ...QUIET, name, value: false };
  };
  read: ActuatorCalls['read'] = async (name) => ({ ...QUIET, name, pulsing: true, fault: 'gone' });
  settings: ActuatorCalls['settings'] = (name) =>
    relaySettings(name, { valueType: name === 'dim' ? 'number' : 'boolean', limits: { min: 1, max: 9 } });
}

let door: Door;
let ends: string[];
let clock: FakeClock;
beforeEach(() => {
  door = new Door();
  ends = [];
  clock = new FakeClock();
});

// The methods under test use no more of it than the class above has.
const actuators = (): ActuatorCalls => door as unknown as ActuatorCalls;
const builtIn = (): readonly Operation[] => [
  ...operationsOn(STATUS_OPERATIONS, {
    status: () => ({ a: 1 }) as never,
    shown: () => [],
    diagnose: async () => ({ c: 3 }),
  }),
  ...operationsOn(SENSOR_OPERATIONS, { readNow: async (name) => [{ key: name, value: 1 }], asSent: () => [] }),
  // Its state alone is asked for.
  ...operationsOn(OUTBOX_OPERATIONS, { status: () => ({ b: 2 }) } as unknown as KeptPlaces),
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
const declared = (
  configs: Record<string, RpcMethodConfig>,
  readNow: ReadNow['readNow'] = async () => [],
): readonly Operation[] => [
  ...declaredActuatorMethods(
    configs,
    Object.values(configs).flatMap(({ actuator }) => (actuator === undefined ? [] : [door.settings(actuator)])),
    actuators(),
  ),
  ...declaredSensorMethods(configs, { readNow }),
  ...programMethods(configs, { clock: systemClock, runProgram }),
];
const tableOf = (methods: readonly Operation[], permissions: Record<string, MethodPermission> = {}): MethodTable =>
  new MethodTable({ clock, methods, permissions, locked: () => false });
async function listed(
  methods: readonly Operation[],
  permissions: Record<string, MethodPermission> = {},
): Promise<Record<string, JsonValue>[]> {
  const list = await tableOf(methods, permissions)
    .admit('listMethods', {})
    .run({}, { asker: 'platform', note: undefined, signal: never });
  return (list as Record<string, JsonValue>[]).map(({ description, ...rest }) => {
    expect(String(description).length).toBeGreaterThan(8);
    return rest;
  });
}
async function call(
  methods: readonly Operation[],
  name: string,
  params: JsonValue,
  signal = never,
): Promise<JsonValue> {
  const method = tableOf(methods).admit(name, params);
  const note = method.prepare?.(params, 'platform');
  return await method.run(params, { asker: 'platform', note, signal });
}

describe('what is told of a method', () => {
  it('is its shape, its time and whether it moves', async () => {
    const name = {
      type: 'string',
      maxLength: 64,
      description: expect.stringContaining('as the configuration calls it'),
    };
    const value = { type: ['boolean', 'number', 'string'], maxLength: 1024 };
    const shut = { type: 'object', additionalProperties: false };
    const nothing = { description: 'nothing' };
    const time = { type: 'string', maxLength: 16, description: expect.any(String) };
    const durationMs = { type: 'number', minimum: 1, maximum: 3_600_000, description: 'ms' };
    const level = { type: 'string', enum: ['debug', 'info', 'warn', 'error'] };
    expect(await listed([...builtIn(), ...operationsOn(OUTPUT_OPERATIONS, actuators())])).toEqual([
      { name: 'getStatus', params: nothing, deadlineMs: 8_000, moves: false },
      { name: 'diagnose', params: nothing, deadlineMs: 8_000, moves: false },
      {
        name: 'readSensor',
        params: { ...shut, properties: { name }, required: ['name'] },
        deadlineMs: 8_000,
        moves: false,
      },
      { name: 'outboxStatus', params: nothing, deadlineMs: 8_000, moves: false },
      {
        name: 'setLogLevel',
        params: { ...shut, properties: { level }, required: ['level'] },
        deadlineMs: 8_000,
        moves: false,
      },
      { name: 'restart', params: nothing, deadlineMs: 8_000, moves: true },
      { name: 'reboot', params: nothing, deadlineMs: 8_000, moves: true },
      {
        name: 'setActuator',
        params: { ...shut, properties: { name, value, for: time }, required: ['name', 'value'] },
        deadlineMs: 8_000,
        moves: true,
      },
      {
        name: 'releaseActuator',
        params: { ...shut, properties: { name }, required: ['name'] },
        deadlineMs: 8_000,
        moves: false,
      },
      {
        name: 'getActuator',
        params: { ...shut, properties: { name }, required: ['name'] },
        deadlineMs: 8_000,
        moves: false,
      },
      {
        name: 'pulse',
        params: { ...shut, properties: { name, durationMs }, required: ['name', 'durationMs'] },
        deadlineMs: 8_000,
        moves: true,
      },
      { name: 'toggle', params: { ...shut, properties: { name }, required: ['name'] }, deadlineMs: 8_000, moves: true },
      { name: 'listMethods', params: {}, deadlineMs: 1_000, moves: false },
    ]);
  });

  it('is what the configuration allows of it, and nothing of what it forbids', async () => {
    const configs = {
      getStatus: config({ deadlineMs: 5, mostPerMinute: 3, allowed: { type: 'object' } }),
      reboot: config({ enabled: false }),
    };
    const list = await listed(builtIn(), configs);
    expect(list[0]).toEqual({
      name: 'getStatus',
      params: { description: 'nothing' },
      deadlineMs: 5,
      mostPerMinute: 3,
      allowed: { type: 'object' },
      moves: false,
    });
    expect(list.map(({ name }) => name)).not.toContain('reboot');
    expect(tableOf(builtIn(), configs).admit('getStatus', {}).deadlineMs).toBe(5);
  });

  it('is the range of the actuator that it sets, where nothing else is declared', async () => {
    const list = await listed(
      declared({
        dim: config({ actuator: 'dim' }),
        full: config({ actuator: 'dim', value: 9 }),
        own: config({ actuator: 'dim', params: { type: 'null' }, description: 'As the owner says.' }),
        ring: config({ actuator: 'bell', pulseMs: 20 }),
        roof: config({ sensor: 'roof', params: { type: 'string' } }),
      }),
    );
    const range = { minimum: 1, maximum: 9 };
    expect(list.slice(0, 5)).toEqual([
      {
        name: 'dim',
        params: { description: BARE_OR_WRAPPED, type: ANY, ...range, properties: { value: { ...range } } },
        deadlineMs: 8_000,
        moves: true,
      },
      { name: 'full', params: {}, deadlineMs: 8_000, moves: true },
      { name: 'own', params: { type: 'null' }, deadlineMs: 8_000, moves: true },
      { name: 'ring', params: {}, deadlineMs: 8_000, moves: true },
      { name: 'roof', params: { type: 'string' }, deadlineMs: 1_000, moves: false },
    ]);
  });
});

describe('a built-in method', () => {
  it('gives what the agent says', async () => {
    const methods = builtIn();
    expect(await call(methods, 'getStatus', null)).toEqual({ a: 1, sensors: [] });
    expect(await call(methods, 'outboxStatus', null)).toEqual({ b: 2 });
    expect(await call(methods, 'diagnose', null)).toEqual({ c: 3 });
    expect(await call(methods, 'readSensor', { name: 'roof' })).toEqual([{ key: 'roof', value: 1 }]);
    expect(await call(methods, 'setLogLevel', { level: 'warn' })).toEqual({ level: 'warn' });
    expect(ends).toEqual(['warn']);
  });

  it('is asked for by its own params, not by what every object has', async () => {
    const readSensor = builtIn().find(({ name }) => name === 'readSensor');
    for (const params of [null, 'roof', ['roof'], {}, JSON.parse('{"__proto__":{"name":"roof"}}') as JsonValue])
      expect(await readSensor?.run(params, { asker: 'platform', note: undefined, signal: never })).toEqual([
        { key: '', value: 1 },
      ]);
  });

  it('is a read, a set or a movement', () => {
    const asked = builtIn().filter((one) => mayAsk('platform', one));
    expect(asked.map(({ name, effect }) => [name, effect])).toEqual([
      ['getStatus', 'read'],
      ['diagnose', 'read'],
      ['readSensor', 'read'],
      ['outboxStatus', 'read'],
      ['setLogLevel', 'set'],
      ['restart', 'move'],
      ['reboot', 'move'],
    ]);
  });
});

describe('a declared method', () => {
  it('sets its actuator, by what is declared before what is asked', async () => {
    const methods = declared({
      dim: config({ actuator: 'dim' }),
      full: config({ actuator: 'dim', value: 9 }),
      off: config({ actuator: 'dim', value: false }),
    });
    const plain = (name: string): Operation | undefined => methods.find((method) => method.name === name);
    for (const params of [
      5,
      { value: 6 },
      { value: null },
      {},
      null,
      JSON.parse('{"__proto__":{"value":3}}') as JsonValue,
    ])
      await plain('dim')?.run(params, { asker: 'platform', note: undefined, signal: never });
    for (const name of ['full', 'off'])
      await plain(name)?.run({ value: 3 }, { asker: 'platform', note: undefined, signal: never });
    expect(door.asked.map((asked) => (asked as unknown[])[2])).toEqual([
      5,
      6,
      null,
      {},
      null,
      JSON.parse('{"__proto__":{"value":3}}'),
      9,
      0,
    ]);
    expect(door.asked[0]).toEqual(['set', 'dim', 5, 'rpc']);
  });

  it('pulses for as long as is declared', async () => {
    const ring = declared({ ring: config({ actuator: 'bell', pulseMs: 20 }) })[0];
    expect(await ring?.run({ durationMs: 5 }, { asker: 'platform', note: undefined, signal: never })).toEqual({
      name: 'bell',
      value: false,
    });
    expect(door.asked).toEqual([['pulse', 'bell', 20, 'rpc']]);
  });

  it('reads its sensor, and passes the end of its time on', async () => {
    let seen: AbortSignal | undefined;
    const readNow: ReadNow['readNow'] = async (name, signal) => {
      seen = signal;
      return [{ key: name, value: 2 }];
    };
    expect(await call(declared({ roof: config({ sensor: 'roof' }) }, readNow), 'roof', null)).toEqual([
      { key: 'roof', value: 2 },
    ]);
    expect(seen).toBe(never);
  });

  it.each<[string, string, unknown]>([
    ['gives what a program said', 'echo said {word}', { stdout: 'said a b\n' }],
    ['gives what it complained of, too', 'echo out; echo {word} >&2', { stdout: 'out\n', stderr: 'a b\n' }],
    [
      'says that a long output was cut',
      'head -c 20000 /dev/zero | tr "\\0" x',
      { stdout: 'x'.repeat(16 * 1024), cut: true },
    ],
  ])('%s', async (_, script, result) => {
    const command = {
      program: '/bin/sh',
      arguments: ['-c', script.replace('{word}', '"$1"'), 'sh', '{word}'],
      idempotent: false,
      json: false,
    };
    expect(await call(declared({ run: config({ command }) }), 'run', { word: 'a b' })).toEqual(result);
  });

  it.each<[string, string]>([
    ['echo one; echo two >&2; exit 3', 'the program ended with 3: two'],
    ['kill -TERM $$', 'the program was ended by SIGTERM: '],
  ])('fails as its program did: %s', async (script, message) => {
    const command = { program: '/bin/sh', arguments: ['-c', script], idempotent: true, json: false };
    await expect(call(declared({ run: config({ command }) }), 'run', [])).rejects.toMatchObject({
      code: 'rpc/program-failed',
      message,
    });
  });

  it('keeps of a complaint no more than 200 characters', async () => {
    const command = {
      program: '/bin/sh',
      arguments: ['-c', 'head -c 500 /dev/zero | tr "\\0" x >&2; exit 1'],
      idempotent: true,
      json: false,
    };
    await expect(call(declared({ run: config({ command }) }), 'run', null)).rejects.toMatchObject({
      message: `the program ended with 1: ${'x'.repeat(200)}`,
    });
  });

  it('refuses what its program cannot be given before anything is begun', async () => {
    const command = { program: '/bin/echo', arguments: ['{word}'], idempotent: false, json: false };
    const method = declared({ run: config({ command }) })[0];
    for (const params of [null, {}, { word: ['a'] }, { word: '--help' }])
      expect(() => method?.prepare?.(params, 'platform')).toThrow(
        expect.objectContaining({ code: 'host/bad-argument' }),
      );
    expect(method?.prepare?.({ word: 'a' }, 'platform')).toBeUndefined();
  });
});

it('the state of an actuator is told with what is known of it, and nothing else', () => {
  expect(stateAsJson({ ...QUIET, name: 'a' })).toEqual({ name: 'a', value: null });
  expect(stateAsJson({ ...QUIET, name: 'a', value: 0, by: 'rpc', pulsing: true, fault: 'stuck' })).toEqual({
    name: 'a',
    value: 0,
    by: 'rpc',
    pulsing: true,
    fault: 'stuck',
  });
});
