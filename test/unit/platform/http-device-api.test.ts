/** What the client sends, what it refuses to send, and how long it waits. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { TelemetryRows } from '../../../src/platform/device-api.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { provisionDevice } from '../../../src/platform/provision-device.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const never = new AbortController().signal;
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly contentType: string | undefined;
}
let seen: Seen[];
let answer: { status: number; body: string };
let server: Server;
let api: HttpDeviceApi;
let url: string;

beforeEach(async () => {
  seen = [];
  answer = { status: 200, body: '' };
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      seen.push({ method, url: path, body: Buffer.concat(parts).toString(), contentType: headers['content-type'] });
      if (answer.status !== 0) response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock: systemClock });
});
afterEach(async () => {
  await api.close();
  server.closeAllConnections();
  server.close();
});

const paths = (): string[] => seen.map(({ method, url: path }) => `${method} ${path}`);

describe('every endpoint', () => {
  it('has the path, query and body of the contract', async () => {
    await api.postTelemetry(rowsOf({ ts: 5, values: { a: 1 } }), never);
    await api.postAttributes({ model: 'x' }, never);
    await api.getAttributes({ clientKeys: ['a', 'b c'], sharedKeys: ['ü'] }, never);
    await api.getAttributes({}, never);
    await api.pollAttributes(20_000, never);
    await api.pollRpc(25_000, never);
    await api.replyRpc(0, { result: 1 }, never);
    await api.clientRpc('getTime', {}, never);
    await api.claim({ secretKey: 's', durationMs: 60_000 }, never);
    await api.getFirmware({ title: 'a b', version: '1+2', sizeBytes: 4096, chunk: 3 }, never);
    await api.getFirmware({ title: 'a', version: '1' }, never);
    expect(seen.map(({ method, url: path, body }) => [method, path, body])).toEqual([
      ['POST', '/api/v1/tok/telemetry', '{"ts":5,"values":{"a":1}}'],
      ['POST', '/api/v1/tok/attributes', '{"model":"x"}'],
      ['GET', '/api/v1/tok/attributes?clientKeys=a,b%20c&sharedKeys=%C3%BC', ''],
      ['GET', '/api/v1/tok/attributes', ''],
      ['GET', '/api/v1/tok/attributes/updates?timeout=20000', ''],
      ['GET', '/api/v1/tok/rpc?timeout=25000', ''],
      ['POST', '/api/v1/tok/rpc/0', '{"result":1}'],
      ['POST', '/api/v1/tok/rpc', '{"method":"getTime","params":{}}'],
      ['POST', '/api/v1/tok/claim', '{"secretKey":"s","durationMs":60000}'],
      ['GET', '/api/v1/tok/firmware?title=a+b&version=1%2B2&size=4096&chunk=3', ''],
      ['GET', '/api/v1/tok/firmware?title=a&version=1', ''],
    ]);
    for (const { method, contentType } of seen) expect(contentType).toBe(method === 'POST' ? 'application/json' : undefined);
  });
});

describe('telemetry', () => {
  it('is the same prepared or not, and never another that was prepared', async () => {
    const [rows, others] = [rowsOf({ ts: 5, values: { a: 1 } }), rowsOf({ ts: 6, values: { b: 2 } })];
    api.prepareTelemetry(rows);
    await api.postTelemetry(rows, never);
    api.prepareTelemetry(rows);
    await api.postTelemetry(others, never);
    await api.postTelemetry(rows, never);
    expect(seen.map(({ body }) => body)).toEqual(['{"ts":5,"values":{"a":1}}', '{"ts":6,"values":{"b":2}}', '{"ts":5,"values":{"a":1}}']);
    api.prepareTelemetry(rowsOf({ ts: -1, values: { a: 1 } }));
  });

  it('is never sent as an empty list, which the server would not answer', async () => {
    expect(await api.postTelemetry(rowsOf(), never)).toEqual({ kind: 'accepted' });
    expect(seen).toEqual([]);
  });

  it.each<[string, TelemetryRows]>([
    ['a blank key', rowsOf({ ts: 1, values: { good: 1 } }, { ts: 1, values: { ' ': 1 } })],
    ['a key of 256 characters', rowsOf({ ts: 1, values: { ['k'.repeat(256)]: 1 } })],
    ['a key with markup', rowsOf({ ts: 1, values: { '<img src=x>': 1 } })],
    ['NaN', rowsOf({ ts: 1, values: { a: Number.NaN } })],
    ['null', rowsOf({ ts: 1, values: { a: null } })],
    ['a time that is none', rowsOf({ ts: 1.5, values: { a: 1 } })],
    ['a key called ts without a time', rowsOf({ values: { ts: 1, values: 2 } })],
  ])('with %s is refused here, because the server would accept it and lose it', async (_name, rows) => {
    expect(await api.postTelemetry(rows, never)).toMatchObject({ kind: 'refused', status: 0, text: expect.stringMatching(/./) });
    expect(seen).toEqual([]);
  });
});

describe('attributes', () => {
  it('that the server would lose are refused here', async () => {
    await expect(api.postAttributes({ '': 1 }, never)).rejects.toMatchObject({ code: 'platform/refused' });
    await expect(api.postAttributes({ a: null }, never)).rejects.toMatchObject({ code: 'platform/refused' });
    expect(seen).toEqual([]);
  });

  it('are not asked for when the lists are empty, as that would bring all of them', async () => {
    expect(await api.getAttributes({ clientKeys: [], sharedKeys: [] }, never)).toEqual({ client: {}, shared: {}, empty: true });
    expect(seen).toEqual([]);
  });

  it('are asked for with all others when a key holds a comma or the list is too long for a request line', async () => {
    answer.body = '{"client":{"x":1,"a,b":2},"shared":{"other":3,"k7":4}}';
    expect(await api.getAttributes({ clientKeys: ['a,b'] }, never)).toEqual({ client: { 'a,b': 2 }, shared: {}, empty: false });
    const many = Array.from({ length: 2000 }, (_, n) => `k${n}`);
    expect(await api.getAttributes({ sharedKeys: many }, never)).toEqual({ client: {}, shared: { k7: 4 }, empty: false });
    expect(paths()).toEqual(['GET /api/v1/tok/attributes', 'GET /api/v1/tok/attributes']);
  });

  it('that nobody asked for are left out, and inherited names are not found', async () => {
    answer.body = '{"shared":{"a":1,"b":2}}';
    expect(await api.getAttributes({ sharedKeys: ['a', 'toString'] }, never)).toEqual({ client: {}, shared: { a: 1 }, empty: false });
  });
});

describe('a poll', () => {
  it('on a connection that died is given up 10 s after its own time', async () => {
    answer.status = 0;
    const clock = new FakeClock();
    const polling = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock });
    const poll = polling.pollRpc(20_000, never);
    let ended = false;
    poll.catch(() => {
      ended = true;
    });
    await expect.poll(() => seen.length).toBe(1);
    await clock.advance(29_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    await expect(poll).rejects.toMatchObject({ code: 'platform/busy' });
    expect(clock.pending).toBe(0);
    await polling.close();
  });

  it('does not hold up a reply, an upload or the other poll', async () => {
    answer.status = 0;
    const stop = new AbortController();
    const polls = [api.pollRpc(20_000, stop.signal), api.pollAttributes(20_000, stop.signal)];
    await expect.poll(() => seen.length).toBe(2);
    answer.status = 200;
    await api.replyRpc(1, {}, never);
    expect(await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never)).toEqual({ kind: 'accepted' });
    stop.abort();
    expect(await Promise.all(polls)).toEqual([undefined, undefined]);
  });
});

describe('a firmware stream', () => {
  it('that nobody reads leaves no timer behind when the client is closed', async () => {
    const clock = new FakeClock();
    const idle = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock });
    answer.body = 'x'.repeat(1_000_000);
    await idle.getFirmware({ title: 'a', version: '1' }, never);
    expect(clock.pending).toBe(1);
    await idle.close();
    await expect.poll(() => clock.pending).toBe(0);
  });
});

describe('provisioning', () => {
  const ask = { deviceName: 'gw', provisionDeviceKey: 'the-key', provisionDeviceSecret: 'the-secret' };
  const provision = (more: { readonly token?: string } = {}): ReturnType<typeof provisionDevice> =>
    provisionDevice({ ...ask, ...more }, { settings: { url, requestTimeoutMs: 2000 }, clock: systemClock }, never);

  it('sends the fields of the contract, and the token it proposes in the optional ones', async () => {
    answer.body = '{"status":"SUCCESS","credentialsType":"ACCESS_TOKEN","credentialsValue":"v"}';
    await provision();
    await provision({ token: 'mine' });
    expect(seen.map(({ url: path, body }) => [path, JSON.parse(body)])).toEqual([
      ['/api/v1/provision', ask],
      ['/api/v1/provision', { ...ask, credentialsType: 'ACCESS_TOKEN', token: 'mine' }],
    ]);
  });

  it.each<[string, unknown]>([
    ['{"status":"SUCCESS","credentialsType":"ACCESS_TOKEN","credentialsValue":"v"}', { status: 'SUCCESS', credentialsValue: 'v' }],
    [
      '{"provisionDeviceStatus":"SUCCESS","accessToken":"v"}',
      { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'v' },
    ],
    ['{"status":"NOT_FOUND","errorMsg":"x"}', { status: 'NOT_FOUND', errorMsg: 'x' }],
    ['{"status":"FAILURE"}', { status: 'FAILURE', errorMsg: '' }],
  ])('understands %s', async (body, expected) => {
    answer.body = body;
    expect(await provision()).toMatchObject(expected as object);
  });

  it.each([
    '',
    '{}',
    '[]',
    '{"status":"SUCCESS"}',
    '{"status":"SUCCESS","credentialsValue":""}',
    '{"status":"SUCCESS","credentialsValue":5}',
    '{"status":"MAYBE"}',
  ])('takes %j for no answer at all', async (body) => {
    answer.body = body;
    await expect(provision()).rejects.toMatchObject({ code: 'platform/bad-answer', recovery: 'retry' });
  });

  it('shows neither key nor secret nor token of an error that echoes them', async () => {
    answer = { status: 500, body: '{"message":"the-secret of the-key wants my-own-token"}' };
    const error = await provision({ token: 'my-own-token' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'platform/refused' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/the-secret|the-key|my-own-token/);
  });
});

describe("the server's time", () => {
  it('is told with each call that the server has accepted, and not with a login page or a refusal', async () => {
    const heard: number[] = [];
    const listening = new HttpDeviceApi({
      settings: { url },
      token: () => 'tok',
      clock: systemClock,
      onPlatformDate: (ms) => heard.push(ms),
    });
    await listening.postTelemetry(rowsOf({ ts: 5, values: { a: 1 } }), never);
    expect(heard).toHaveLength(1);
    expect(Math.abs((heard[0] ?? 0) - Date.now())).toBeLessThan(60_000);
    for (const other of [
      { status: 401, body: '' },
      { status: 200, body: '<html>Welcome to the hotel</html>' },
    ]) {
      answer = other;
      await listening.postTelemetry(rowsOf({ ts: 5, values: { a: 1 } }), never);
    }
    expect(heard).toHaveLength(1);
    await listening.close();
  });
});
