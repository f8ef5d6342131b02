/** The manners of the real server that a client must live with (wire-facts.md), which no real server shows on demand. */
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/host/clock.ts';
import { HttpDeviceApi } from '../../../../src/platform/http-device-api.ts';
import { LocalPlatform, type LocalPlatformOptions } from '../../../../src/stand-ins/local-platform/local-platform.ts';
import { RawReply } from '../../../../src/stand-ins/local-platform/payload.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { rowsOf } from '../../../support/telemetry-rows.ts';

const never = new AbortController().signal;
const RECORDS = rowsOf({ ts: 1, values: { a: 1 } });
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function start(
  options: LocalPlatformOptions = {},
): Promise<{ platform: LocalPlatform; api: HttpDeviceApi; id: string; base: string }> {
  const platform = await LocalPlatform.start(options);
  const { id, accessToken } = platform.ensureDevice('gateway');
  const api = new HttpDeviceApi({
    settings: { url: platform.url, requestTimeoutMs: 3000 },
    token: () => accessToken,
    clock: systemClock,
  });
  open.push(platform, api);
  return { platform, api, id, base: `${platform.url}/api/v1/${accessToken}` };
}

async function post(
  url: string,
  body: string,
  method: 'POST' | 'GET' = 'POST',
): Promise<{ status: number; text: string }> {
  const answer = await request(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: method === 'GET' ? null : body,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

const soon = (ms = 50): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(done: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200 && !done(); attempt += 1) await soon(10);
}

describe('uploads', () => {
  it('an empty list is never answered until the async limit cuts it', async () => {
    const { base } = await start({ asyncLimitMs: 200 });
    const startMs = Date.now();
    expect(await post(`${base}/telemetry`, '[]')).toEqual({ status: 503, text: '' });
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(190);
  });

  it('a malformed payload is 500 with plain text, an unknown token 401 without', async () => {
    const { base, platform } = await start();
    const bad = await post(`${base}/telemetry`, '{');
    expect(bad.status).toBe(500);
    expect(bad.text).not.toBe('');
    expect((await post(`${base}/attributes`, '[1]')).status).toBe(500);
    expect(await post(`${platform.url}/api/v1/nobody/telemetry`, '{"a":1}')).toEqual({ status: 401, text: '' });
  });

  it('a body past its limit is 413 with a JSON string: 16 MiB, and 64 KiB on rpc', async () => {
    const { base } = await start();
    const big = await post(`${base}/rpc/1`, `"${'x'.repeat(65_536)}"`);
    expect(big.status).toBe(413);
    expect(typeof JSON.parse(big.text)).toBe('string');
    expect((await post(`${base}/rpc/1`, `"${'x'.repeat(65_000)}"`)).status).toBe(200);
  });

  it('past a limit of several windows a POST is 500 without a word, messages and data points counted apart', async () => {
    const clock = new FakeClock();
    const { base, platform, id } = await start({
      clock,
      rateLimits: { dataMessages: '3:1,4:60', dataPoints: '10:1,15:60' },
    });
    const send = async (values: number): Promise<number> => {
      const body = JSON.stringify(Object.fromEntries(Array.from({ length: values }, (_, at) => [`k${at}`, at])));
      const { status, text } = await post(`${base}/telemetry`, body);
      expect(text).toBe('');
      return status;
    };
    // More points than a window holds never pass, and still cost a message.
    expect([await send(11), await send(8), await send(3)]).toEqual([500, 200, 500]);
    expect(await post(`${base}/attributes`, '{"a":1}')).toEqual({ status: 500, text: '' });
    await clock.advance(1000);
    expect([await send(3), await send(1)]).toEqual([200, 500]);
    await clock.advance(60_000);
    expect([await send(10), await send(1)]).toEqual([200, 500]);
    await clock.advance(500);
    expect(await send(5)).toBe(200);
    expect(platform.state.telemetry.keys(id)).toHaveLength(10);
  });

  it('past the rate limit a POST is 500 without a word and a GET hangs until 503', async () => {
    const { base, platform, api } = await start({ asyncLimitMs: 200 });
    platform.rateLimit.perSecond = 0;
    expect(await post(`${base}/telemetry`, '{"a":1}')).toEqual({ status: 500, text: '' });
    expect(await post(`${base}/attributes`, '', 'GET')).toEqual({ status: 503, text: '' });
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'busy', status: 500, text: '' });
    platform.rateLimit.perSecond = undefined;
    expect(await api.postTelemetry(RECORDS, never)).toEqual({ kind: 'accepted' });
  });
});

describe('what a device sent', () => {
  it('is stored a while after its 200, in the order in which it came, and at the latest when the server stops', async () => {
    const clock = new FakeClock();
    const { base, platform, id } = await start({ clock, storeDelayMs: 20 });
    expect((await post(`${base}/telemetry`, '{"ts":5,"values":{"a":1}}')).status).toBe(200);
    expect((await post(`${base}/telemetry`, '{"ts":5,"values":{"a":2}}')).status).toBe(200);
    expect((await post(`${base}/attributes`, '{"model":"x"}')).status).toBe(200);
    expect([platform.state.telemetry.series(id, 'a').size, platform.state.attributes.read(id, 'CLIENT_SCOPE')]).toEqual(
      [0, []],
    );
    await clock.advance(20);
    expect(platform.state.telemetry.series(id, 'a').latest()).toEqual({ ts: 5, value: 2 });
    expect(platform.state.attributes.read(id, 'CLIENT_SCOPE')).toMatchObject([{ key: 'model', value: 'x' }]);
    await post(`${base}/telemetry`, '{"ts":6,"values":{"a":3}}');
    await platform.goAway();
    expect(platform.state.telemetry.series(id, 'a').latest()).toEqual({ ts: 6, value: 3 });
  });

  it('is lost when the server is killed before it is stored', async () => {
    const clock = new FakeClock();
    const { base, platform, id } = await start({ clock, storeDelayMs: 20 });
    await post(`${base}/telemetry`, '{"ts":5,"values":{"a":1}}');
    await clock.advance(20);
    await post(`${base}/telemetry`, '{"ts":6,"values":{"a":2}}');
    await platform.crash();
    expect([platform.state.telemetry.series(id, 'a').latest()?.ts, platform.arrivals.lost]).toEqual([5, 1]);
  });

  it('is lost without a word, the whole instant or the whole set, where one key or the time is bad', async () => {
    const { base, platform, id } = await start();
    const bad = [
      '',
      ' ',
      '\u001c',
      'k'.repeat(256),
      '\u{1f600}'.repeat(128),
      '<b>',
      'a<5',
      '{{x}}',
      '{{\n}}',
      'a\u0000b',
    ];
    for (const key of bad) {
      expect((await post(`${base}/telemetry`, JSON.stringify({ ts: 1, values: { [key]: 1, good: 1 } }))).status).toBe(
        200,
      );
      expect((await post(`${base}/attributes`, JSON.stringify({ [key]: 1, good: 1 }))).status).toBe(200);
    }
    expect(
      (
        await post(
          `${base}/telemetry`,
          '[{"ts":253402300800000,"values":{"late":1}},{"ts":253402300799999,"values":{"kept":1}}]',
        )
      ).status,
    ).toBe(200);
    expect(platform.state.telemetry.keys(id)).toEqual(['kept']);
    expect(platform.state.attributes.read(id, 'CLIENT_SCOPE')).toEqual([]);
    expect(platform.arrivals.lost).toBe(2 * bad.length + 1);
  });
});

describe('long polls', () => {
  it('are 408 when their time is over, and 503 when the async limit comes first', async () => {
    const { base } = await start({ asyncLimitMs: 300 });
    for (const what of ['rpc', 'attributes/updates']) {
      expect(await post(`${base}/${what}?timeout=100`, '', 'GET'), what).toEqual({ status: 408, text: '' });
      expect(await post(`${base}/${what}?timeout=1000`, '', 'GET'), what).toEqual({ status: 503, text: '' });
      expect(await post(`${base}/${what}`, '', 'GET'), what).toEqual({ status: 503, text: '' });
    }
  });

  it.each(['13639.85', '2.5e4', '1e3', '9223372036854775808', '0.0', 'NaN'])(
    'are refused where their time is no whole number of 64 bits: %s',
    async (timeout) => {
      const { base } = await start();
      for (const what of ['rpc', 'attributes/updates']) {
        const { status, text } = await post(`${base}/${what}?timeout=${timeout}`, '', 'GET');
        expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 400, errorCode: 31 });
      }
    },
  );

  it.each(['+100', '%20100', '100%20', '%2B100'])('take a number with a blank or a sign: %s', async (timeout) => {
    const { base } = await start();
    expect((await post(`${base}/rpc?timeout=${timeout}`, '', 'GET')).status).toBe(408);
  });

  it('each get the same message, and end after it', async () => {
    const { platform, id, base } = await start();
    const polls = [0, 1].map(() => post(`${base}/attributes/updates?timeout=5000`, '', 'GET'));
    await until(() => platform.attributePolls.waiting(id) === 2);
    platform.state.setAttributes(id, 'SHARED_SCOPE', { a: 1 });
    platform.state.setAttributes(id, 'SHARED_SCOPE', { a: 2 });
    expect((await Promise.all(polls)).map(({ text }) => text)).toEqual(['{"a":1}', '{"a":1}']);
  });

  it('end with 403 and text when the device is deleted', async () => {
    const { platform, id, base } = await start();
    const polls = ['attributes/updates', 'rpc'].map((what) => post(`${base}/${what}?timeout=5000`, '', 'GET'));
    await until(() => platform.attributePolls.waiting(id) === 1 && platform.rpc.waiting(id) === 1);
    platform.state.deleteDevice(id);
    for (const { status, text } of await Promise.all(polls)) expect([status, text === '']).toEqual([403, false]);
  });
});

describe('RPC', () => {
  const call = { method: 'm', params: {}, oneway: true, timeoutMs: 2000 };

  it('one-way to a poll whose client is gone is lost, although it counts as sent', async () => {
    const { platform, id, api } = await start({ stalePollMs: 5000 });
    const stop = new AbortController();
    const poll = api.pollRpc(5000, stop.signal);
    await until(() => platform.rpc.waiting(id) === 1);
    stop.abort();
    await poll;
    expect(platform.rpc.waiting(id)).toBe(1);
    expect(await platform.rpc.call(id, call)).toBeNull();
    expect(await api.pollRpc(300, never)).toBeUndefined();
  });

  it('two-way to a poll whose client is gone is handed out again', async () => {
    const { platform, id, api } = await start({ stalePollMs: 5000 });
    const stop = new AbortController();
    const poll = api.pollRpc(5000, stop.signal);
    await until(() => platform.rpc.waiting(id) === 1);
    stop.abort();
    await poll;
    const reply = platform.rpc.call(id, { ...call, oneway: false });
    expect(await api.pollRpc(2000, never)).toMatchObject({ id: 0 });
    await api.replyRpc(0, 'done', never);
    expect(await reply).toBe('done');
  });

  it('one-way waits for a poll, and is told when nobody came in its time', async () => {
    const { platform, id, api } = await start();
    const taken = platform.rpc.call(id, call);
    expect(await api.pollRpc(1000, never)).toMatchObject({ id: 0 });
    expect(await taken).toBeNull();
    expect(await platform.rpc.call(id, { ...call, timeoutMs: 50 })).toBeUndefined();
  });

  it('takes a reply that is no JSON, which only the caller finds out', async () => {
    const { platform, id, base } = await start();
    const reply = platform.rpc.call(id, { ...call, oneway: false });
    const record = platform.rpc.callPersistently(id, { ...call, oneway: false });
    for (const request of [0, 1]) expect(await post(`${base}/rpc/${request}`, '{')).toEqual({ status: 200, text: '' });
    expect(await reply).toEqual(new RawReply('{'));
    expect(platform.state.rpcs.byId(record.rpcId)).toMatchObject({ status: 'SUCCESSFUL', response: { error: '{' } });
  });

  it('persistent is DELIVERED with its first hand-out, SUCCESSFUL with its reply, EXPIRED with its time', async () => {
    const { platform, id, api } = await start();
    const state = (rpcId: string): string | undefined => platform.state.rpcs.byId(rpcId)?.status;
    const [oneway, twoway, late] = [{}, { oneway: false }, { oneway: false, timeoutMs: 50 }].map(
      (more) => platform.rpc.callPersistently(id, { ...call, timeoutMs: 60_000, ...more }).rpcId,
    ) as [string, string, string];
    expect([oneway, twoway, late].map(state)).toEqual(['QUEUED', 'QUEUED', 'QUEUED']);
    await api.pollRpc(1000, never);
    const second = await api.pollRpc(1000, never);
    expect([oneway, twoway].map(state)).toEqual(['DELIVERED', 'DELIVERED']);
    await api.replyRpc(second?.id ?? -1, { result: 1 }, never);
    expect([oneway, twoway].map(state)).toEqual(['DELIVERED', 'SUCCESSFUL']);
    await until(() => state(late) === 'EXPIRED');
    expect(state(late)).toBe('EXPIRED');
  });

  it('persistent and never handed out comes again under a new id when the server restarts; what was handed out does not', async () => {
    const { platform, id, api } = await start();
    const persistent = { ...call, oneway: false, timeoutMs: 60_000 };
    const first = platform.rpc.callPersistently(id, { ...persistent, method: 'first' });
    expect(await api.pollRpc(1000, never)).toMatchObject({ id: 0, method: 'first' });
    const kept = platform.rpc.callPersistently(id, { ...persistent, method: 'kept' });
    await platform.goAway();
    await platform.comeBack();
    const again = await api.pollRpc(1000, never).catch(() => api.pollRpc(1000, never));
    expect(again).toMatchObject({ id: 0, method: 'kept' });
    await api.replyRpc(0, { result: 1 }, never);
    expect(platform.state.rpcs.byId(kept.rpcId)?.status).toBe('SUCCESSFUL');
    expect(platform.state.rpcs.byId(first.rpcId)?.status).toBe('DELIVERED');
  });

  it('that nobody answers blocks those behind it until its time is over', async () => {
    const { platform, id, api } = await start();
    const first = platform.rpc.call(id, { ...call, oneway: false, timeoutMs: 300, method: 'first' });
    void platform.rpc.call(id, { ...call, oneway: false, method: 'second' });
    expect(await api.pollRpc(1000, never)).toMatchObject({ method: 'first' });
    expect(await api.pollRpc(1000, never)).toMatchObject({ method: 'first' });
    expect(await first).toBeUndefined();
    expect(await api.pollRpc(1000, never)).toMatchObject({ method: 'second' });
  });

  it('counts ids from 0 per device, and again from 0 when the server restarts', async () => {
    const { platform, id, api } = await start();
    const ids: (number | undefined)[] = [];
    for (let n = 0; n < 3; n += 1) {
      void platform.rpc.call(id, call);
      ids.push((await api.pollRpc(1000, never))?.id);
    }
    await platform.goAway();
    await platform.comeBack();
    void platform.rpc.call(id, call);
    // The first call after the server's return may still meet the old connection.
    const afterwards = await api.pollRpc(1000, never).catch(() => api.pollRpc(1000, never));
    expect([...ids, afterwards?.id]).toEqual([0, 1, 2, 0]);
  });

  it('from the device wants method and params, and says timeout when nobody answers', async () => {
    const { base } = await start({
      clientRpc: async (_device, method, params) => (method === 'echo' ? params : undefined),
    });
    expect((await post(`${base}/rpc`, '{"method":"echo"}')).status).toBe(500);
    expect((await post(`${base}/rpc`, '{"params":{}}')).status).toBe(500);
    expect(await post(`${base}/rpc`, '{"method":"echo","params":{"a":9007199254740993}}')).toEqual({
      status: 200,
      text: '{"a":9007199254740993}',
    });
    expect(await post(`${base}/rpc`, '{"method":"other","params":{}}')).toEqual({
      status: 200,
      text: '{"error":"timeout"}',
    });
  });
});

describe('planted faults', () => {
  it('answer, drop, hang or drip the next uploads, then things go on', async () => {
    const { platform, api, id } = await start({ asyncLimitMs: 100 });
    platform.faults.plant({ kind: 'answer', status: 429, headers: { 'retry-after': '2' } });
    platform.faults.plant({ kind: 'drop' }, { times: 2 });
    platform.faults.plant({ kind: 'hang' });
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await api.postTelemetry(rowsOf({ ts: 1, values: { n } }), never));
    expect(answers).toMatchObject([
      { kind: 'busy', status: 429, retryAfterMs: 2000 },
      { kind: 'busy' },
      { kind: 'busy' },
      { kind: 'busy', status: 503 },
      { kind: 'accepted' },
    ]);
    expect(platform.faults.left).toBe(0);
    expect(platform.state.telemetry.series(id, 'n').latest()).toEqual({ ts: 1, value: 4 });
  });

  it('lose an answer after everything was stored', async () => {
    const { platform, api, id } = await start();
    platform.faults.plant({ kind: 'lose-answer' });
    expect(await api.postTelemetry(RECORDS, never)).toMatchObject({ kind: 'busy' });
    expect(platform.state.telemetry.series(id, 'a').latest()).toEqual({ ts: 1, value: 1 });
  });

  it('drip until the client has had enough', async () => {
    const { platform, api } = await start();
    platform.faults.plant({ kind: 'drip', periodMs: 10 }, { matches: (_method, path) => path.endsWith('/attributes') });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    await expect(api.getAttributes({}, stop.signal)).rejects.toMatchObject({ code: 'platform/aborted' });
  });
});
