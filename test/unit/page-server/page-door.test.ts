/** Switching on the page: who may, what is understood, what the output refuses. */
import { afterEach, describe, expect, it } from 'vitest';
import { refusal } from '../../../src/errors/agent-error.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { type LocalDoor, openLocalDoor } from '../../../src/operations/local-door.ts';
import { type Operation, QUESTION } from '../../../src/operations/operation.ts';
import type { ActuatorCalls } from '../../../src/operations/output-operations.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { StatusBench } from '../../support/status-bench.ts';
import { outputDoor } from '../../support/told-outputs.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

let bench: StatusBench;
afterEach(() => bench?.stop());

const calls: unknown[] = [];
const still = { desired: undefined, by: 'local', pulsing: false, fault: undefined } as const;
const outputs: Partial<ActuatorCalls> = {
  settings: (name) => relaySettings(name),
  check: () => true,
  set: async (name, value, { by, forMs }) => {
    calls.push({ name, value, by, forMs });
    if (name === 'pump') throw refusal('actuators/interlock', 'the valve is on');
    return { ...still, name, value: value === true };
  },
  release: async (name) => {
    calls.push({ released: name });
    return { ...still, name, value: false };
  },
};
let isLocked = false;
const door = outputDoor('page', outputs, undefined, { locked: () => isLocked });

async function entered(given?: LocalDoor): Promise<{ cookie: string }> {
  calls.length = 0;
  isLocked = false;
  bench = await StatusBench.open({ pin: '471199' }, systemClock, given);
  const answer = await fetch(`${bench.url}/api/session`, { method: 'POST', body: '{"pin":"471199"}' });
  return { cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

const set = (params: object) => ({ operation: 'setActuator', params });

async function post(
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: unknown }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${bench.url}/api/operation`, { method: 'POST', headers, body: text });
  return { status: answer.status, body: await answer.json().catch(() => undefined) };
}

describe('an output on the page', () => {
  it('is set and released, for a time where one is given, and answers with its state', async () => {
    const headers = { ...JSON_TYPE, ...(await entered(door)) };
    expect(await post(set({ name: 'relay', value: true, for: '10m' }), headers)).toEqual({
      status: 200,
      body: { name: 'relay', value: true, by: 'local' },
    });
    expect((await post({ operation: 'releaseActuator', params: { name: 'relay' } }, headers)).status).toBe(200);
    expect(calls).toEqual([{ name: 'relay', value: true, by: 'local', forMs: 600_000 }, { released: 'relay' }]);
    expect(bench.infos.filter((line) => line.includes('on the page'))).toEqual([
      'asked on the page',
      'asked on the page',
    ]);
  });

  it('is told in the log as a look where a change of the configuration is only looked at', async () => {
    const configure: Operation = {
      ...QUESTION,
      name: 'configure',
      description: 'a change',
      effect: 'set',
      askers: ['page'],
      params: { type: 'object' },
      run: () => null,
    };
    const own = openLocalDoor('page', { operations: [configure], locked: () => false, tell: () => {} });
    const headers = { ...JSON_TYPE, ...(await entered(own)) };
    for (const params of [{ patch: {}, check: true }, { patch: {} }])
      expect((await post({ operation: 'configure', params }, headers)).status).toBe(200);
    expect(bench.infos.filter((line) => line.includes('on the page'))).toEqual([
      'looked at on the page',
      'asked on the page',
    ]);
    expect(bench.infoFields).toContainEqual(expect.objectContaining({ operation: 'configure', check: true }));
  });

  it('is not switched on under lockout, and is switched off', async () => {
    const headers = { ...JSON_TYPE, ...(await entered(door)) };
    isLocked = true;
    expect(await post(set({ name: 'relay', value: true }), headers)).toMatchObject({
      status: 409,
      body: { code: 'rpc/locked-out' },
    });
    expect(calls).toEqual([]);
    expect((await post(set({ name: 'relay', value: false }), headers)).status).toBe(200);
  });

  it('says what an output refuses', async () => {
    const headers = { ...JSON_TYPE, ...(await entered(door)) };
    expect(await post(set({ name: 'pump', value: true }), headers)).toEqual({
      status: 409,
      body: { reason: 'the valve is on', code: 'actuators/interlock' },
    });
  });

  it('moves nothing without a session', async () => {
    await entered(door);
    expect((await post(set({ name: 'relay', value: true }), JSON_TYPE)).status).toBe(401);
    expect(calls).toEqual([]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'moves nothing for what another site can send: %s',
    async (type) => {
      const headers = { 'content-type': type, ...(await entered(door)) };
      expect((await post(set({ name: 'relay', value: true }), headers)).status).toBe(415);
      expect(calls).toEqual([]);
    },
  );

  it.each([
    ...['', '{', '[]', '"x"', '{"operation":"setActuator"}', '{"params":{}}', '{"operation":1,"params":{}}'],
    ...['{"name":"relay"}', '{"value":true}', '{"name":1,"value":true}'].map(
      (params) => `{"operation":"setActuator","params":${params}}`,
    ),
    '{"operation":"releaseActuator","params":{"name":"relay","value":true}}',
    '{"operation":"pulse","params":{"name":"relay","durationMs":50}}',
    `{"operation":"setActuator","params":{"name":"relay","value":"${'x'.repeat(5_000)}"}}`,
  ])('moves nothing for what it does not understand: %.40s', async (body) => {
    const headers = { ...JSON_TYPE, ...(await entered(door)) };
    expect((await post(body, headers)).status).toBe(400);
    expect(calls).toEqual([]);
  });

  it.each(['0s', '1e12', 'soon', 1])('moves nothing for a time that is %s', async (time) => {
    const headers = { ...JSON_TYPE, ...(await entered(door)) };
    expect(await post(set({ name: 'relay', value: true, for: time }), headers)).toMatchObject({
      status: 409,
      body: { code: 'actuators/bad-time' },
    });
    expect(calls).toEqual([]);
  });

  it('is not there where the configuration does not allow it', async () => {
    const headers = { ...JSON_TYPE, ...(await entered()) };
    expect((await post(set({ name: 'relay', value: true }), headers)).status).toBe(404);
  });

  it('is not there without a PIN, whatever is configured', async () => {
    bench = await StatusBench.open({}, systemClock, door);
    expect((await post(set({ name: 'relay', value: true }), JSON_TYPE)).status).toBe(404);
  });
});

it('logs that a configuration was handed over without what is in it, and no question', async () => {
  const patches: unknown[] = [];
  const run = (params: unknown) => {
    patches.push(params);
    return null;
  };
  const question = { ...QUESTION, name: 'configurationStatus', description: 'x', askers: ['page'] as const, run };
  const configure = { ...question, name: 'configure', effect: 'set' as const };
  const operations = [question, configure];
  const page = openLocalDoor('page', { operations, locked: () => false, tell: () => {} });
  const headers = { ...JSON_TYPE, ...(await entered(page)) };
  const set = { 'platform.accessToken': 'a-secret', 'sensors.roof.label': 'x'.repeat(8_000) };
  expect((await post({ operation: 'configure', params: { patch: { set } } }, headers)).status).toBe(200);
  expect((await post({ operation: 'configurationStatus', params: {} }, headers)).status).toBe(200);
  expect(patches).toHaveLength(2);
  expect(bench.infos.filter((line) => line.includes('on the page'))).toHaveLength(1);
  expect(JSON.stringify(bench.infoFields)).toContain('configure');
  expect(JSON.stringify(bench.infoFields)).not.toContain('a-secret');
});
