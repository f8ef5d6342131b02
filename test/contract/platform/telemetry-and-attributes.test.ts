/** Endpoints 1 to 3, from the device's side to the people's side and back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendableKey } from '../../../src/platform/wire-values.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { eventually, Server } from './server.ts';

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
    for (const [key, value] of Object.entries(values))
      expect(stored[key], key).toEqual([{ ts: 1_700_000_000_123, value }]);
  });

  it('stores every number as the number it was, and as text that reads back as it where the server has no room for it', async () => {
    const { id, api } = await server.makeDevice();
    const numbers = {
      past53: 2 ** 53 + 2,
      p60: 2 ** 60,
      least: -(2 ** 63),
      whole: 12_345_678,
      small: 1.5e-15,
      half: 0.1,
      third: 1 / 3,
    };
    const texts = {
      p63: 2 ** 63,
      huge: 1e300,
      beyond: 9_223_372_036_854_775_808n,
      tiny: -1.602176634e-19,
      last: 9e-16,
    };
    await api.postTelemetry(rowsOf({ ts: 1_700_000_000_000, values: { ...numbers, ...texts } }), never);
    const stored = await server.stored(id, Object.keys({ ...numbers, ...texts }));
    for (const [key, value] of Object.entries(numbers)) {
      const found = stored[key]?.[0]?.value;
      expect(['number', 'bigint'], key).toContain(typeof found);
      expect(Number(found), key).toBe(value);
    }
    for (const [key, value] of Object.entries(texts)) {
      const found = stored[key]?.[0]?.value;
      expect(typeof found, key).toBe('string');
      expect(Number(found), key).toBe(Number(value));
    }
  });

  it('keeps an instant with keys that would take all of it along, under names of their own', async () => {
    const { id, api } = await server.makeDevice();
    const bad = ['{{level}}', '<b>', ' ', 'k'.repeat(300), '\u0000', '\u{1f600}'.repeat(200)];
    const values = Object.fromEntries(['good', ...bad].map((key, at) => [key, at]));
    expect(await api.postTelemetry(rowsOf({ ts: 1_700_000_000_000, values }), never)).toEqual({ kind: 'accepted' });
    const stored = await server.stored(id, ['good', ...bad.map(sendableKey)]);
    expect(stored.good?.[0]?.value).toBe(0);
    for (const [at, key] of bad.entries())
      expect(stored[sendableKey(key)]?.[0]?.value, JSON.stringify(key)).toBe(at + 1);
  });

  it('loses nothing where an instant has keys called ts and values', async () => {
    const { id, api } = await server.makeDevice();
    await api.postTelemetry(rowsOf({ ts: 1_700_000_000_000, values: { ts: 5, values: 6, other: 7 } }), never);
    const stored = await server.stored(id, ['ts', 'values', 'other']);
    for (const [key, value] of Object.entries({ ts: 5, values: 6, other: 7 }))
      expect(stored[key], key).toEqual([{ ts: 1_700_000_000_000, value }]);
  });

  it('takes several instants in one payload, in any order', async () => {
    const { id, api } = await server.makeDevice();
    const records = [3, 1, 2].map((n) => ({ ts: 1_700_000_000_000 + n, values: { n } }));
    expect(await api.postTelemetry(rowsOf(...records), never)).toEqual({ kind: 'accepted' });
    const { n } = await server.stored(id, ['n'], 3);
    expect(n).toEqual([1, 2, 3].map((value) => ({ ts: 1_700_000_000_000 + value, value })));
  });

  it('gives values without time the time of the server', async () => {
    const { id, api } = await server.makeDevice();
    expect(await api.postTelemetry(rowsOf({ values: { one: 1, two: 2 } }), never)).toEqual({ kind: 'accepted' });
    const stored = await server.stored(id, ['one', 'two']);
    for (const key of ['one', 'two'])
      expect(Math.abs((stored[key]?.[0]?.ts ?? 0) - Date.now()), key).toBeLessThan(60_000);
  });

  it('overwrites itself when it is sent twice', async () => {
    const { id, api } = await server.makeDevice();
    const rows = rowsOf({ ts: 1_700_000_000_000, values: { again: 1.5 } });
    await api.postTelemetry(rows, never);
    await api.postTelemetry(rows, never);
    expect((await server.stored(id, ['again'])).again).toEqual([{ ts: 1_700_000_000_000, value: 1.5 }]);
  });

  it('is refused with text when the payload is none of the three forms, and without a word when part of a form has the wrong type', async () => {
    const { accessToken } = await server.makeDevice();
    for (const body of ['{', '"text"', '[1]', '{"ts":1,"values":[]}']) {
      const { status, text } = await server.device('POST', accessToken, 'telemetry', body);
      expect(status, body).toBe(500);
      expect(text === '', body).toBe(body.includes('values'));
    }
  });

  it('is unauthorised with a token that nobody has', async () => {
    const api = server.client('nobody-has-this-token');
    const answer = await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never);
    expect(answer).toMatchObject({ kind: 'unauthorised', status: 401 });
  });
});

describe('attributes', () => {
  it('keeps client, shared and server-side ones of one name apart, and never shows the device a server-side one', async () => {
    const { id, api } = await server.makeDevice();
    await api.postAttributes({ place: 'client', mine: 9_007_199_254_740_993n }, never);
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, {
      place: 'shared',
      wanted: { on: true },
    });
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SERVER_SCOPE`, {
      place: 'server',
      secret: 1,
    });
    const everything = await eventually(
      () => api.getAttributes({}, never),
      ({ client, shared }) => 'mine' in client && 'wanted' in shared,
    );
    expect(everything.client).toMatchObject({ place: 'client', mine: 9_007_199_254_740_993n });
    expect(everything.shared).toMatchObject({ place: 'shared', wanted: { on: true } });
    expect({ ...everything.client, ...everything.shared }).not.toHaveProperty('secret');
    const { body } = await server.rest(
      'GET',
      `/api/plugins/telemetry/DEVICE/${id}/values/attributes/SERVER_SCOPE?keys=place`,
    );
    expect(body).toMatchObject([{ key: 'place', value: 'server' }]);
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
  });

  it('says that nothing was found, which is not the same as deleted', async () => {
    const { api } = await server.makeDevice();
    expect(await api.getAttributes({ sharedKeys: ['missing'] }, never)).toEqual({
      client: {},
      shared: {},
      empty: true,
    });
  });
});
