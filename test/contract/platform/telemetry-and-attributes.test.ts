/** Endpoints 1 to 3, from the device's side to the people's side and back. */
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { JsonObject } from '../../../src/host/json.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { Server } from './server.ts';

const never = new AbortController().signal;
let server: Server;

beforeAll(async () => {
  server = await Server.open();
});
afterAll(() => server.close());

describe('telemetry', () => {
  it('stores every value type as it was sent, with its own time', async () => {
    const { id, api } = await server.makeDevice();
    const values = {
      text: 'a "quoted" ü',
      yes: true,
      no: false,
      double: 21.53,
      small: 0.0000001,
      negative: -0.125,
      long: 42,
      zero: 0,
      long64: 9_007_199_254_740_993n,
      least: -9_223_372_036_854_775_808n,
      json: { nested: { deep: [1, 2.5, 'x', null, 9_007_199_254_740_993n] }, empty: {} },
    } satisfies JsonObject;
    expect(await api.postTelemetry(rowsOf({ ts: 1_700_000_000_123, values }), never)).toEqual({ kind: 'accepted' });
    const stored = await server.stored(id, Object.keys(values));
    for (const [key, value] of Object.entries(values)) expect(stored[key], key).toEqual([{ ts: 1_700_000_000_123, value }]);
    await api.close();
  });

  it('keeps a whole double past 2^53 a number, and turns an integer past int64 into a string', async () => {
    const { id, api } = await server.makeDevice();
    await api.postTelemetry(rowsOf({ ts: 1_700_000_000_000, values: { huge: 1e300, beyond: 9_223_372_036_854_775_808n } }), never);
    const stored = await server.stored(id, ['huge', 'beyond']);
    expect(stored.huge?.[0]?.value).toBe(1e300);
    expect(stored.beyond?.[0]?.value).toBe('9223372036854775808');
    await api.close();
  });

  it('takes several instants in one payload, in any order', async () => {
    const { id, api } = await server.makeDevice();
    const records = [3, 1, 2].map((n) => ({ ts: 1_700_000_000_000 + n, values: { n } }));
    expect(await api.postTelemetry(rowsOf(...records), never)).toEqual({ kind: 'accepted' });
    const { n } = await server.stored(id, ['n'], 3);
    expect(n).toEqual([1, 2, 3].map((value) => ({ ts: 1_700_000_000_000 + value, value })));
    await api.close();
  });

  it('gives values without time the time of the server', async () => {
    const { id, api } = await server.makeDevice();
    expect(await api.postTelemetry(rowsOf({ values: { one: 1, two: 2 } }), never)).toEqual({ kind: 'accepted' });
    const stored = await server.stored(id, ['one', 'two']);
    for (const key of ['one', 'two']) expect(Math.abs((stored[key]?.[0]?.ts ?? 0) - Date.now()), key).toBeLessThan(60_000);
    await api.close();
  });

  it('overwrites itself when it is sent twice', async () => {
    const { id, api } = await server.makeDevice();
    const rows = rowsOf({ ts: 1_700_000_000_000, values: { again: 1.5 } });
    await api.postTelemetry(rows, never);
    await api.postTelemetry(rows, never);
    expect((await server.stored(id, ['again'])).again).toEqual([{ ts: 1_700_000_000_000, value: 1.5 }]);
    await api.close();
  });

  it('is refused with text when the payload is none of the three forms', async () => {
    const { accessToken, api } = await server.makeDevice();
    for (const body of ['{', '"text"', '[1]', '{"ts":1,"values":[]}']) {
      const headers = { 'content-type': 'application/json' };
      const answer = await request(`${server.url}/api/v1/${accessToken}/telemetry`, { method: 'POST', headers, body });
      expect([400, 500], body).toContain(answer.statusCode);
      expect(await answer.body.text(), body).not.toBe('');
    }
    await api.close();
  });

  it('is unauthorised with a token that nobody has', async () => {
    const api = new HttpDeviceApi({ settings: { url: server.url }, token: () => 'nobody-has-this-token', clock: systemClock });
    const answer = await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never);
    expect(answer).toMatchObject({ kind: 'unauthorised', status: 401 });
    await api.close();
  });
});

describe('attributes', () => {
  it('keeps client, shared and server-side ones of one name apart, and never shows the device a server-side one', async () => {
    const { id, api } = await server.makeDevice();
    await api.postAttributes({ place: 'client', mine: 9_007_199_254_740_993n }, never);
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, { place: 'shared', wanted: { on: true } });
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SERVER_SCOPE`, { place: 'server', secret: 1 });
    const everything = await eventually(
      () => api.getAttributes({}, never),
      ({ client, shared }) => 'mine' in client && 'wanted' in shared,
    );
    expect(everything.client).toMatchObject({ place: 'client', mine: 9_007_199_254_740_993n });
    expect(everything.shared).toMatchObject({ place: 'shared', wanted: { on: true } });
    expect({ ...everything.client, ...everything.shared }).not.toHaveProperty('secret');
    const { body } = await server.rest('GET', `/api/plugins/telemetry/DEVICE/${id}/values/attributes/SERVER_SCOPE?keys=place`);
    expect(body).toMatchObject([{ key: 'place', value: 'server' }]);
    await api.close();
  });

  it('answers only the keys that were asked for, scope by scope', async () => {
    const { id, api } = await server.makeDevice();
    await api.postAttributes({ a: 1, b: 2 }, never);
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, { a: 'x', b: 'y' });
    const found = await eventually(
      () => api.getAttributes({ clientKeys: ['a', 'missing'], sharedKeys: ['b'] }, never),
      ({ client, shared }) => 'a' in client && 'b' in shared,
    );
    expect(found).toEqual({ client: { a: 1 }, shared: { b: 'y' }, empty: false });
    await api.close();
  });

  it('says that nothing was found, which is not the same as deleted', async () => {
    const { api } = await server.makeDevice();
    expect(await api.getAttributes({ sharedKeys: ['missing'] }, never)).toEqual({ client: {}, shared: {}, empty: true });
    await api.close();
  });
});

async function eventually<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const value = await read();
    if (good(value) || attempt === 50) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
