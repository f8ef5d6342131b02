/** Switching on the page: who may, what is understood, what the output refuses. */
import { afterEach, describe, expect, it } from 'vitest';
import { refusal } from '../../../src/errors/agent-error.ts';
import { systemClock } from '../../../src/host/clock.ts';
import type { SwitchedOutputs } from '../../../src/status/output-switch.ts';
import { StatusBench } from '../../support/status-bench.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

let bench: StatusBench;
afterEach(() => bench?.stop());

const calls: unknown[] = [];
const outputs: SwitchedOutputs = {
  set: async (name, value, forMs) => {
    calls.push({ name, value, forMs });
    if (name === 'pump') throw refusal('actuators/interlock', 'the valve is on');
    return { name, value };
  },
  release: (name) => {
    calls.push({ released: name });
    return { name };
  },
};

async function entered(given?: SwitchedOutputs): Promise<{ cookie: string }> {
  calls.length = 0;
  bench = await StatusBench.open({ pin: '471199' }, systemClock, given);
  const answer = await fetch(`${bench.url}/api/session`, { method: 'POST', body: '{"pin":"471199"}' });
  return { cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

async function post(
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: unknown }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${bench.url}/api/output`, { method: 'POST', headers, body: text });
  return { status: answer.status, body: await answer.json().catch(() => undefined) };
}

describe('an output on the page', () => {
  it('is set and released, for a time where one is given, and answers with its state', async () => {
    const headers = { ...JSON_TYPE, ...(await entered(outputs)) };
    expect(await post({ name: 'relay', value: true, forMs: 600_000 }, headers)).toEqual({
      status: 200,
      body: { name: 'relay', value: true },
    });
    expect(await post({ name: 'relay', release: true }, headers)).toEqual({ status: 200, body: { name: 'relay' } });
    expect(calls).toEqual([{ name: 'relay', value: true, forMs: 600_000 }, { released: 'relay' }]);
    expect(bench.infos.filter((line) => line.includes('on the page'))).toEqual([
      'set on the page',
      'released on the page',
    ]);
  });

  it('says what an output refuses', async () => {
    const headers = { ...JSON_TYPE, ...(await entered(outputs)) };
    expect(await post({ name: 'pump', value: true }, headers)).toEqual({
      status: 409,
      body: { reason: 'the valve is on', code: 'actuators/interlock' },
    });
  });

  it('moves nothing without a session', async () => {
    await entered(outputs);
    expect((await post({ name: 'relay', value: true }, JSON_TYPE)).status).toBe(401);
    expect(calls).toEqual([]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'moves nothing for what another site can send: %s',
    async (type) => {
      const headers = { 'content-type': type, ...(await entered(outputs)) };
      expect((await post({ name: 'relay', value: true }, headers)).status).toBe(415);
      expect(calls).toEqual([]);
    },
  );

  it.each([
    ...['', '{', '[]', '"x"', '{"name":"relay"}', '{"value":true}', '{"name":1,"value":true}'],
    ...[
      '{"name":"relay","value":true,"forMs":0}',
      '{"name":"relay","value":true,"forMs":"1h"}',
      '{"name":"relay","value":true,"forMs":1e12}',
    ],
    ...['{"name":"relay","value":true,"release":true}', `{"name":"relay","value":"${'x'.repeat(5_000)}"}`],
  ])('moves nothing for what it does not understand: %.40s', async (body) => {
    const headers = { ...JSON_TYPE, ...(await entered(outputs)) };
    expect((await post(body, headers)).status).toBe(400);
    expect(calls).toEqual([]);
  });

  it('is not there where the configuration does not allow it', async () => {
    const headers = { ...JSON_TYPE, ...(await entered()) };
    expect((await post({ name: 'relay', value: true }, headers)).status).toBe(404);
  });

  it('is not there without a PIN, whatever is configured', async () => {
    bench = await StatusBench.open({}, systemClock, outputs);
    expect((await post({ name: 'relay', value: true }, JSON_TYPE)).status).toBe(404);
  });
});
