/** Requests of the client, those that it refuses to send, and how long it waits. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { Connect, PlatformConnections } from '../../../src/platform/connections.ts';
import type { TelemetryRows } from '../../../src/platform/device-api.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { requestProvisioning } from '../../../src/platform/provision-request.ts';
import { sendableKey } from '../../../src/platform/wire-values.ts';
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
      if (answer.status !== 0)
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
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

/** Types that the server declares for what stands in a query or body: whole numbers there take no fraction and no exponent. */
const WHOLE_IN_QUERY = ['timeout', 'size', 'chunk'];
const WHOLE_IN_BODY = ['durationMs', 'ts'];

describe('the types of the server', () => {
  const requests: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['a poll for attributes', () => api.pollAttributes(13_639.852921999991, never)],
    ['a poll for RPC', () => api.pollRpc(0.0000025, never)],
    ['a claim', () => api.claim({ secretKey: 's', durationMs: 60_000.25 }, never)],
    ['a claim without a secret', () => api.claim({ durationMs: 1e21 / 1e16 }, never)],
    ['a piece of a file', () => api.getFirmware({ title: 'a b', version: '1', sizeBytes: 2 ** 20, chunk: 3 }, never)],
    ['telemetry', () => api.postTelemetry(rowsOf({ ts: 1_700_000_000_123, values: { a: 1.5 } }), never)],
    ['attributes', () => api.getAttributes({ sharedKeys: ['a'] }, never)],
    ['a reply', () => api.replyRpc(7, { result: 1.5 }, never)],
  ];

  it.each(requests)('hold for %s', async (_name, send) => {
    answer = { status: 200, body: '{}' };
    await send().catch(() => {});
    expect(seen).toHaveLength(1);
    for (const { url: target, body } of seen) {
      const { searchParams } = new URL(target, url);
      for (const name of WHOLE_IN_QUERY)
        if (searchParams.has(name)) expect(searchParams.get(name), name).toMatch(/^\d{1,10}$/);
      for (const name of WHOLE_IN_BODY)
        for (const [, value] of body.matchAll(new RegExp(`"${name}":([^,}]+)`, 'g'))) expect(value).toMatch(/^\d+$/);
    }
  });

  it('make a poll longer by the fraction, never shorter', async () => {
    answer = { status: 408, body: '' };
    await api.pollRpc(13_639.2, never).catch(() => {});
    expect(paths()).toEqual(['GET /api/v1/tok/rpc?timeout=13640']);
  });
});

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
    const bodies = [
      await api.getFirmware({ title: 'a b', version: '1+2', sizeBytes: 4096, chunk: 3 }, never),
      await api.getFirmware({ title: 'a', version: '1' }, never),
    ];
    // Its deadline runs until a body was read.
    for (const { stream } of bodies) for await (const _ of stream);
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
    for (const { method, contentType } of seen)
      expect(contentType).toBe(method === 'POST' ? 'application/json' : undefined);
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
    expect(seen.map(({ body }) => body)).toEqual([
      '{"ts":5,"values":{"a":1}}',
      '{"ts":6,"values":{"b":2}}',
      '{"ts":5,"values":{"a":1}}',
    ]);
    api.prepareTelemetry(rowsOf({ ts: -1, values: { a: 1 } }));
  });

  it('is never sent as an empty list, which the server would not answer', async () => {
    const answer = await api.postTelemetry(rowsOf(), never);
    expect(seen).toEqual([]);
    // Nobody took it: an answer that said so would count as contact.
    expect(answer).toMatchObject({ kind: 'refused', status: 0 });
  });

  it.each<[string, TelemetryRows]>([
    ['NaN', rowsOf({ ts: 1, values: { a: Number.NaN } })],
    ['null', rowsOf({ ts: 1, values: { a: null } })],
    ['a time that is none', rowsOf({ ts: 1.5, values: { a: 1 } })],
    ['a time in the year 10000', rowsOf({ ts: 253_402_300_800_000, values: { a: 1 } })],
    ['a key called ts without a time', rowsOf({ values: { ts: 1, values: 2 } })],
  ])('with %s is refused here, because the server would accept it and lose it', async (_name, rows) => {
    const refused = {
      kind: 'refused',
      status: 0,
      text: expect.stringMatching(/./),
      unsendable: [{ row: 0, reason: expect.any(String) }],
    };
    expect(await api.postTelemetry(rows, never)).toEqual(refused);
    expect(seen).toEqual([]);
  });

  it('names every row that cannot be sent, so that the others can go without them', async () => {
    const rows = rowsOf(
      { ts: 1, values: { good: 1, none: null } },
      { ts: -1, values: { early: 1 } },
      { ts: 2, values: { good: 2 } },
    );
    const answer = await api.postTelemetry(rows, never);
    expect(answer.kind === 'refused' && answer.unsendable?.map(({ row }) => row)).toEqual([1, 2]);
  });

  it('goes under another key where the server would lose its own with everything of that instant, and counts what arrived so', async () => {
    const rows = rowsOf(
      { ts: 1, values: { good: 1, '<img src=x>': 2 } },
      { ts: 2, values: { '{{level}}': 3, ' ': 4 } },
    );
    answer.status = 503;
    await api.postTelemetry(rows, never);
    expect(api.renamedEntries).toBe(0);
    answer.status = 200;
    api.prepareTelemetry(rows);
    expect(await api.postTelemetry(rows, never)).toEqual({ kind: 'accepted' });
    const [first, second] = JSON.parse(seen[1]?.body ?? '') as { values: Record<string, number> }[];
    expect(first?.values).toEqual({ good: 1, [sendableKey('<img src=x>')]: 2 });
    expect(second?.values).toEqual({ [sendableKey('{{level}}')]: 3, [sendableKey(' ')]: 4 });
    expect(api.renamedEntries).toBe(3);
  });
});

describe('attributes', () => {
  it('that the server would lose are refused here', async () => {
    await expect(api.postAttributes({ '': 1 }, never)).rejects.toMatchObject({ code: 'platform/refused' });
    await expect(api.postAttributes({ a: null }, never)).rejects.toMatchObject({ code: 'platform/refused' });
    expect(seen).toEqual([]);
  });

  it('are not asked for when the lists are empty, as that would bring all of them', async () => {
    expect(await api.getAttributes({ clientKeys: [], sharedKeys: [] }, never)).toEqual({
      client: {},
      shared: {},
      empty: true,
    });
    expect(seen).toEqual([]);
  });

  it('are asked for with all others when a key holds a comma or the list is too long for a request line', async () => {
    answer.body = '{"client":{"x":1,"a,b":2},"shared":{"other":3,"k7":4}}';
    expect(await api.getAttributes({ clientKeys: ['a,b'] }, never)).toEqual({
      client: { 'a,b': 2 },
      shared: {},
      empty: false,
    });
    const many = Array.from({ length: 2000 }, (_, n) => `k${n}`);
    expect(await api.getAttributes({ sharedKeys: many }, never)).toEqual({
      client: {},
      shared: { k7: 4 },
      empty: false,
    });
    expect(paths()).toEqual(['GET /api/v1/tok/attributes', 'GET /api/v1/tok/attributes']);
  });

  it('that nobody asked for are left out, and inherited names are not found', async () => {
    answer.body = '{"shared":{"a":1,"b":2}}';
    expect(await api.getAttributes({ sharedKeys: ['a', 'toString'] }, never)).toEqual({
      client: {},
      shared: { a: 1 },
      empty: false,
    });
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

describe('a poll that ends with 408', () => {
  /** Polls, one after the other, on a clock that stands but for what each takes. */
  async function pollsAsked(tookMs: number, patienceMs: number): Promise<number> {
    answer.status = 0;
    const clock = new FakeClock();
    const waiting: ServerResponse[] = [];
    server.on('request', (_request, response: ServerResponse) => void waiting.push(response));
    const polling = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock });
    const stop = new AbortController();
    const running = (async () => {
      for (let poll = 0; poll < 6; poll += 1) await polling.pollRpc(20_000, stop.signal);
    })();
    for (let poll = 1; poll <= 6; poll += 1) {
      const asked = await expect
        .poll(() => waiting.length, { timeout: patienceMs })
        .toBe(poll)
        .then(
          () => true,
          () => false,
        );
      if (!asked) break;
      await clock.advance(tookMs);
      waiting.at(-1)?.writeHead(408).end();
    }
    stop.abort();
    await running;
    await polling.close();
    return waiting.length;
  }

  it('as soon as it is asked is a fault, and waits its turn', async () =>
    expect(await pollsAsked(900, 300)).toBeLessThan(6));

  it('after it has stood is none', async () => expect(await pollsAsked(10_000, 5_000)).toBe(6));

  it.each([500, 1_100, 3_900, 5_000, 9_900])(
    'after %i ms, and so does one of the other kind, is asked for once in two seconds at most',
    async (tookMs) => {
      const clock = new FakeClock();
      let asked = 0;
      const request = async ({ signal }: { readonly signal: AbortSignal }) => {
        asked += 1;
        await clock.sleep(tookMs, signal);
        return { statusCode: 503, headers: {}, body: Readable.from([]) };
      };
      // A lane of the HTTP client's is more than this; no more of it is asked for.
      const lane = (() => ({ request })) as unknown as PlatformConnections['lane'];
      const traffic = { sentBytes: 0, receivedBytes: 0 };
      const connect: Connect = () => ({ origin: url, prefix: '', lane, traffic, secrets: [], close: async () => {} });
      const polling = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock, connect });
      const stop = new AbortController();
      const keepAsking = async (poll: () => Promise<unknown>): Promise<void> => {
        while (!stop.signal.aborted) await poll();
      };
      const running = [
        keepAsking(() => polling.pollRpc(20_000, stop.signal)),
        keepAsking(() => polling.pollAttributes(20_000, stop.signal)),
      ];
      for (let step = 0; step < 600; step += 1) {
        await clock.advance(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(asked).toBeLessThanOrEqual(33);
      expect(asked).toBeGreaterThan(11);
      stop.abort();
      await Promise.all(running);
    },
  );
});

describe('a poll that ends with 503 and a time to come back', () => {
  it('is no poll that brought nothing, but a server that is busy', async () => {
    server.prependListener(
      'request',
      (_request, response: ServerResponse) => void response.setHeader('retry-after', '7'),
    );
    answer.status = 503;
    await expect(api.pollRpc(20_000, never)).rejects.toMatchObject({
      code: 'platform/busy',
      status: 503,
      retryAfterMs: 7_000,
    });
  });
});

describe('an answer', () => {
  // Good JSON all of it, so that nothing but its length is wrong.
  const long = (object: object, bytes: number): string => `${' '.repeat(bytes)}${JSON.stringify(object)}`;

  it.each([
    [60_000, { kind: 'accepted' }],
    [70_000, { kind: 'portal', status: 200 }],
  ])('to an upload is read to 64 KiB: %i bytes', async (bytes, expected) => {
    answer.body = long({}, bytes);
    expect(await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never)).toEqual(expected);
  });

  it('to attributes is read to 64 KiB', async () => {
    answer.body = long({}, 70_000);
    await expect(api.postAttributes({ a: 1 }, never)).rejects.toMatchObject({ code: 'platform/bad-answer' });
  });

  it('to provisioning is read to 64 KiB', async () => {
    const good = { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'v' };
    const ask = { deviceName: 'gw', provisionDeviceKey: 'the-key', provisionDeviceSecret: 'the-secret' };
    const provision = () =>
      requestProvisioning(ask, { settings: { url, requestTimeoutMs: 2_000 }, clock: systemClock }, never);
    answer.body = long(good, 60_000);
    expect(await provision()).toEqual(good);
    answer.body = long(good, 70_000);
    await expect(provision()).rejects.toMatchObject({ code: 'platform/bad-answer' });
  });
});

describe('a firmware stream', () => {
  it('that nobody reads leaves no timer behind when the client is closed', async () => {
    const clock = new FakeClock();
    const idle = new HttpDeviceApi({ settings: { url }, token: () => 'tok', clock });
    answer.body = 'x'.repeat(1_000_000);
    await idle.getFirmware({ title: 'a', version: '1' }, never);
    // The wait for the next piece, and the next look at the connection's bytes.
    expect(clock.pending).toBe(2);
    await idle.close();
    await expect.poll(() => clock.pending).toBe(0);
  });
});

describe('provisioning', () => {
  const ask = { deviceName: 'gw', provisionDeviceKey: 'the-key', provisionDeviceSecret: 'the-secret' };
  const provision = (more: { readonly token?: string } = {}): ReturnType<typeof requestProvisioning> =>
    requestProvisioning({ ...ask, ...more }, { settings: { url, requestTimeoutMs: 2000 }, clock: systemClock }, never);

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
    [
      '{"status":"SUCCESS","credentialsType":"ACCESS_TOKEN","credentialsValue":"v"}',
      { status: 'SUCCESS', credentialsValue: 'v' },
    ],
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

  it('shows neither of a refusal that echoes them, cut or not', async () => {
    answer.body = JSON.stringify({ status: 'FAILURE', errorMsg: `the-secret ${'x'.repeat(282)} the-key and more` });
    const refusal = JSON.stringify(await provision());
    expect(refusal).toContain('[token] xx');
    expect(refusal).not.toMatch(/the-/);
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
