/** The whole agent, told from afar: what an operator at a dashboard and a technician at the machine can do to it. */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/values/json.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { RemoteBench } from '../support/remote-bench.ts';

const AGREES_WITHIN_MS = 5_000;
let bench: RemoteBench;
let config: JsonObject;

beforeAll(async () => {
  bench = await RemoteBench.open();
  const relay = (name: string, line: string, more: JsonObject = {}): JsonObject => ({
    name,
    kind: 'gpio-output',
    line,
    ...more,
  });
  const who: JsonObject = { type: 'object', properties: { who: { type: 'string', maxLength: 10 } }, required: ['who'] };
  config = {
    sensors: [{ name: 'host', kind: 'host', period: '500ms' }],
    actuators: [
      relay('gate', 'GPIO17', { safe: { start: false }, maxPulse: '1s' }),
      relay('lamp', 'GPIO18', { restore: true }),
      relay('up', 'GPIO19', { interlocks: ['down'] }),
      relay('down', 'GPIO20', { safe: { start: false } }),
      relay('fan', 'GPIO21', { safe: { start: false } }),
    ],
    rules: [
      {
        name: 'cool',
        enabled: false,
        when: { sensor: 'host', key: 'uptimeS', above: 0 },
        set: { actuator: 'fan', value: true },
      },
    ],
    rpc: {
      lockout: { file: join(bench.folder, 'lockout') },
      methods: {
        openGate: { actuator: 'gate', pulse: '50ms', mostPerMinute: 2 },
        setLamp: { actuator: 'lamp' },
        greet: { command: { program: '/bin/echo', arguments: ['hello', '{who}'] }, params: who },
        reboot: { enabled: false },
        setActuator: { allowed: { type: 'object', properties: { name: { enum: ['lamp', 'up', 'down'] } } } },
      },
    },
  };
  await bench.startWholeAgent(config);
}, 120_000);
afterAll(() => bench?.close());

const call = async (method: string, params: JsonValue = {}): Promise<unknown> => {
  const { status, reply } = await bench.rpc(method, params);
  return status === 200 ? (reply.error?.code ?? reply.result) : status;
};

async function clientAttribute(key: string, wanted: JsonValue): Promise<JsonValue | undefined> {
  const untilMs = performance.now() + AGREES_WITHIN_MS;
  let value: JsonValue | undefined;
  while (performance.now() < untilMs) {
    value = await bench.clientAttribute(key);
    if (JSON.stringify(value) === JSON.stringify(wanted)) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return value;
}

/** The one attribute, once it holds these. */
async function effectiveSettings(wanted: JsonObject): Promise<JsonValue | undefined> {
  const untilMs = performance.now() + AGREES_WITHIN_MS;
  let value: JsonValue | undefined;
  while (performance.now() < untilMs) {
    const now = await bench.clientAttribute('effectiveSettings');
    value = now;
    if (isJsonObject(now) && Object.entries(wanted).every(([key, one]) => now[key] === one)) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return value;
}

describe('the agent', () => {
  it('answers what was declared, within its leave', async () => {
    expect(await call('openGate', null)).toMatchObject({ name: 'gate', value: false });
    expect(await call('openGate', null)).toMatchObject({ name: 'gate' });
    // What is declared fails as widgets see a failure; what is built in names its code.
    expect(await call('openGate', null)).toBe(406);
    expect([await bench.moves(17, 1), await bench.moves(17, 0)]).toEqual([2, 2]);
    expect(await call('setLamp', true)).toMatchObject({ value: true });
    expect(await call('setLamp', { value: false })).toMatchObject({ value: false });
    expect(await call('setLamp', 'bright')).toBe(406);
    expect(await call('setActuator', { name: 'lamp', value: 'bright' })).toBe('wrong-type');
    expect(await call('greet', { who: 'you; ls' })).toEqual({ stdout: 'hello you; ls\n' });
    expect(await call('greet', { who: '--help' })).toBe(406);
    expect(await call('greet', {})).toBe(406);
    expect(await call('reboot')).toBe('disabled');
    expect(await call('setActuator', { name: 'gate', value: true })).toBe('not-allowed');
    expect(await call('nonsense')).toBe('unknown-method');
  });

  it('tells what it is, and reads a sensor now', async () => {
    expect(await call('getStatus')).toMatchObject({ version: expect.any(String), configHash: expect.any(String) });
    expect(await call('readSensor', { name: 'host' })).toContainEqual({
      key: 'uptimeS',
      value: expect.any(Number),
      unit: expect.any(String),
    });
    expect(await call('readSensor', { name: 'none' })).toMatch(/^[a-z-]+$/);
    expect(await call('outboxStatus')).toMatchObject({ heldEntries: expect.any(Number) });
    expect(await call('diagnose')).toMatchObject({ verdict: expect.any(String) });
    const methods = (await call('listMethods')) as { name: string }[];
    expect(methods.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['openGate', 'setLamp', 'greet', 'pulse', 'toggle', 'restart']),
    );
    expect(methods.map(({ name }) => name)).not.toContain('reboot');
  });

  it('asks the platform for a person at the command line, and prints what it answers', async () => {
    const words = ['rpc', 'getTime', '{"zone": "UTC"}', '--run-folder', join(bench.folder, 'run'), '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, [AGENT_PROGRAM, ...words]);
    expect(JSON.parse(stdout)).toBeTruthy();
    await expect(
      promisify(execFile)(process.execPath, [AGENT_PROGRAM, 'rpc', 'x', '--run-folder', bench.folder]),
    ).rejects.toMatchObject({
      code: 69,
    });
  });

  it('never has both of two that exclude each other, and shows at the platform what is real', async () => {
    expect(await call('setActuator', { name: 'down', value: true })).toMatchObject({ value: true });
    expect(await call('setActuator', { name: 'up', value: true })).toBe('interlocked');
    await bench.setShared({ up: true });
    expect(
      await clientAttribute('sharedRefused', { up: 'up is never on together with down, and it is active' }),
    ).toBeDefined();
    expect([await clientAttribute('downState', true), await clientAttribute('upState', false)]).toEqual([true, false]);
    expect(await call('setActuator', { name: 'down', value: false })).toMatchObject({ value: false });
    expect(await clientAttribute('upState', true)).toBe(true);
    expect(await clientAttribute('sharedRefused', {})).toEqual({});
  });

  it('takes live settings while it runs, and refuses what does not fit', async () => {
    await bench.setShared({ 'sensors.host.period': '2s', 'log.level': 'loud', 'rules.cool.enabled': true });
    expect(await clientAttribute('fanState', true)).toBe(true);
    const wished = { 'rules.cool.enabled': true, 'sensors.host.period': 2_000 };
    expect(await effectiveSettings(wished)).toEqual(wished);
    expect(Object.keys((await bench.clientAttribute('sharedRefused')) as JsonObject)).toEqual(['log.level']);
    expect(await call('setLogLevel', { level: 'error' })).toEqual({ level: 'error' });
    expect(await effectiveSettings({ ...wished, 'log.level': 'error' })).toEqual({ ...wished, 'log.level': 'error' });
  });

  it('moves nothing from afar under lockout, and nothing by itself when it ends', async () => {
    const before = (await bench.record()).length;
    await writeFile(join(bench.folder, 'lockout'), '');
    for (const [method, params, fault] of [
      ['setLamp', true, 406],
      ['setActuator', { name: 'lamp', value: true }, 'locked-out'],
      ['pulse', { name: 'gate', durationMs: 50 }, 'locked-out'],
      ['toggle', { name: 'lamp' }, 'locked-out'],
      ['greet', { who: 'you' }, 406],
      ['restart', {}, 'locked-out'],
    ] as const)
      expect(await call(method, params)).toBe(fault);
    await bench.setShared({ lamp: true });
    expect(Object.keys((await clientAttribute('sharedRefused', {})) as JsonObject)).toContain('lamp');
    await rm(join(bench.folder, 'lockout'));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const moved = (await bench.record()).slice(before).filter(({ kind }) => kind === 'moved' || kind === 'written');
    expect(moved).toEqual([]);
  });

  it('goes on through a reload that adds an actuator, a sensor and a rule', async () => {
    const { actuators, sensors, rules } = config as Record<string, JsonObject[]>;
    const hash = await bench.clientAttribute('configHash');
    const fileHash = await bench.clientAttribute('configFileHash');
    expect(fileHash).toMatch(/^[0-9a-f]{64}$/);
    await bench.reload({
      ...config,
      actuators: [...(actuators ?? []), { name: 'late', kind: 'gpio-output', line: 'GPIO25' }],
      sensors: [...(sensors ?? []), { name: 'second', kind: 'host', period: '700ms' }],
      rules: [
        ...(rules ?? []),
        { name: 'light', when: { sensor: 'host', key: 'uptimeS', above: 0 }, set: { actuator: 'lamp', value: true } },
      ],
    });
    expect(await clientAttribute('lampState', true)).toBe(true);
    expect(await bench.clientAttribute('configHash')).not.toBe(hash);
    expect(await bench.clientAttribute('configFileHash')).not.toBe(fileHash);
    expect(await call('getStatus')).toMatchObject({ configFileHash: await bench.clientAttribute('configFileHash') });
    expect(await call('setActuator', { name: 'down', value: false })).toMatchObject({ name: 'down' });
    const { actuators: states, alerts } = (await call('getStatus')) as {
      actuators: { name: string }[];
      alerts: string[];
    };
    expect(states.map(({ name }) => name)).toEqual(['gate', 'lamp', 'up', 'down', 'fan']);
    expect(alerts.join()).toContain('restart needed');
    await bench.setShared({ 'sensors.second.period': '900ms' });
    expect(await effectiveSettings({ 'sensors.second.period': 900 })).toMatchObject({ 'sensors.second.period': 900 });
    await bench.reload(config);
  });

  it('restarts once when told to, with settings and restored states as they were, and no wish undone', async () => {
    expect(await call('setLamp', true)).toMatchObject({ value: true });
    expect(await call('restart')).toEqual({ accepted: true });
    const untilMs = performance.now() + 10_000;
    while (bench.agentEnd === undefined && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(bench.agentEnd).toBe(0);
    await bench.startWholeAgent(config);
    expect(await clientAttribute('lampState', true)).toBe(true);
    expect(await effectiveSettings({ 'sensors.host.period': 2_000 })).toMatchObject({ 'sensors.host.period': 2_000 });
    const { sensors } = (await call('getStatus')) as { sensors: readonly { name: string }[] };
    expect(sensors.map(({ name }) => name)).toEqual(['host']);
    expect(bench.agentLog).not.toContain('test-access-token');
  }, 120_000);
});
