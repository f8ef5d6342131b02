/** The analytics side against its contract (wire-facts.md, "Analytics"). */
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { BUILT_IN_VIEWS } from '../../../../src/stand-ins/local-platform/analytics-report.ts';
import { LocalPlatform, type LocalPlatformOptions } from '../../../../src/stand-ins/local-platform/local-platform.ts';
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../../../../src/values/json.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const HOUR_MS = 3_600_000;
const EPOCH_MS = 1_780_002_000_000 - (1_780_002_000_000 % HOUR_MS);
const [ALL, BY_HOUR] = BUILT_IN_VIEWS.map(({ id }) => id);
/** A busy machine answers a hundred requests late; how late says nothing. */
const PATIENCE = { timeout: 20_000 };
const open: LocalPlatform[] = [];

afterEach(async () => {
  for (const platform of open.splice(0)) await platform.close();
});

async function start(options: LocalPlatformOptions = {}): Promise<{ platform: LocalPlatform; jwt: string }> {
  const platform = await LocalPlatform.start(options);
  open.push(platform);
  const login = await send(`${platform.url}/api/auth/login`, {
    username: 'tenant@thingsboard.org',
    password: 'tenant',
  });
  return { platform, jwt: (login.body as { readonly token: string }).token };
}

async function send(
  url: string,
  body: JsonValue,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: JsonValue }> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: stringifyJson(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, body: text === '' ? null : parseJson(text) };
}

async function report(
  platform: LocalPlatform,
  jwt: string,
  body: JsonObject,
): Promise<{ columnLabels: string[]; dataTable: JsonObject[] }> {
  const answer = await send(`${platform.url}/apiAnalytics/publicApi/buildReport`, body, { jwt });
  expect(answer.status).toBe(200);
  return answer.body as unknown as { columnLabels: string[]; dataTable: JsonObject[] };
}

function fill(platform: LocalPlatform): void {
  for (const name of ['one', 'two']) {
    const { id } = platform.ensureDevice(name);
    const device = platform.state.registry.devices.byId(id);
    if (device === undefined) throw new Error('no device');
    platform.state.saveTelemetry(device, { ts: EPOCH_MS, values: { temperature: 20, on: true } });
    platform.state.saveTelemetry(device, { ts: EPOCH_MS + 1000, values: { temperature: 21.5 } });
    platform.state.saveTelemetry(device, { ts: EPOCH_MS + HOUR_MS, values: { temperature: 9_007_199_254_740_993n } });
  }
}

describe('a report', () => {
  it('of every point names device, key, time in ms as a string, and value', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const { columnLabels, dataTable } = await report(platform, jwt, { viewConfigId: ALL ?? '' });
    expect(columnLabels).toEqual(['Device', 'Key', 'Time', 'Value']);
    expect(dataTable).toHaveLength(8);
    expect(dataTable.slice(0, 4)).toEqual([
      { Device: 'one', Key: 'temperature', Time: String(EPOCH_MS), Value: 20 },
      { Device: 'one', Key: 'temperature', Time: String(EPOCH_MS + 1000), Value: 21.5 },
      { Device: 'one', Key: 'temperature', Time: String(EPOCH_MS + HOUR_MS), Value: 9_007_199_254_740_993n },
      { Device: 'one', Key: 'on', Time: String(EPOCH_MS), Value: true },
    ]);
  });

  it('by hour counts, sums, and holds the first and the last', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const { dataTable } = await report(platform, jwt, {
      viewConfigId: BY_HOUR ?? '',
      filters: { Device: ['one'], Key: ['temperature'] },
    });
    expect(dataTable).toEqual([
      { Device: 'one', Key: 'temperature', Hour: String(EPOCH_MS), Count: 2, Sum: 41.5, First: 20, Last: 21.5 },
      {
        Device: 'one',
        Key: 'temperature',
        Hour: String(EPOCH_MS + HOUR_MS),
        Count: 1,
        Sum: 9_007_199_254_740_993n,
        First: 9_007_199_254_740_993n,
        Last: 9_007_199_254_740_993n,
      },
    ]);
  });

  it('by day, with one column per key, has one row per device and day', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const saved = await send(
      `${platform.url}/apiAnalytics/views`,
      {
        name: 'wide',
        fields: [
          { label: 'Where', source: 'device' },
          { label: 'Day', source: 'time', groupBy: 'day' },
          { label: 'Least', source: 'value', key: 'temperature', aggregation: 'MIN' },
          { label: 'On', source: 'value', key: 'on', aggregation: 'LAST' },
        ],
      },
      { 'x-authorization': `Bearer ${jwt}` },
    );
    const { id } = saved.body as { readonly id: string };
    const { dataTable } = await report(platform, jwt, { viewConfigId: id, filters: { Where: ['two'] } });
    expect(dataTable).toEqual([
      { Where: 'two', Day: String(EPOCH_MS - (EPOCH_MS % (24 * HOUR_MS))), Least: 20, On: true },
    ]);
  });

  it('with raw columns has one row per instant, and null where a key has no value', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const id = '11111111-2222-4333-8444-555555555555';
    platform.state.views.put({
      id,
      name: 'raw',
      filters: { device: ['one'] },
      fields: [
        { label: 'Time', source: 'time' },
        { label: 'T', source: 'value', key: 'temperature', aggregation: 'NONE' },
        { label: 'On', source: 'value', key: 'on', aggregation: 'NONE' },
      ],
    });
    const { dataTable } = await report(platform, jwt, { viewConfigId: id });
    expect(dataTable.map(({ T, On }) => [T, On])).toEqual([
      [20, true],
      [21.5, null],
      [9_007_199_254_740_993n, null],
    ]);
  });

  it('takes each end of the range from the view when it is missing or blank', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const all = platform.state.views.byId(ALL ?? '');
    if (all === undefined) throw new Error('no view');
    const id = '11111111-2222-4333-8444-666666666666';
    platform.state.views.put({
      ...all,
      id,
      rangeStartTs: EPOCH_MS + 1000,
      rangeEndTs: EPOCH_MS + 2000,
      filters: { Device: ['one'], Key: ['temperature'] },
    });
    const times = async (range: JsonObject): Promise<number[]> =>
      (await report(platform, jwt, { viewConfigId: id, ...range })).dataTable.map(
        ({ Time }) => Number(Time) - EPOCH_MS,
      );
    expect(await times({})).toEqual([1000]);
    expect(await times({ rangeStartTs: '', rangeEndTs: null })).toEqual([1000]);
    expect(await times({ rangeStartTs: EPOCH_MS })).toEqual([0, 1000]);
    expect(await times({ rangeEndTs: EPOCH_MS + 2 * HOUR_MS })).toEqual([1000, HOUR_MS]);
  });

  it('replaces only the filters that are supplied', async () => {
    const { platform, jwt } = await start();
    fill(platform);
    const all = platform.state.views.byId(ALL ?? '');
    if (all === undefined) throw new Error('no view');
    const id = '11111111-2222-4333-8444-777777777777';
    platform.state.views.put({ ...all, id, filters: { Device: ['one'], Key: ['on'] } });
    const rows = async (filters?: JsonObject): Promise<unknown[]> =>
      (await report(platform, jwt, { viewConfigId: id, ...(filters === undefined ? {} : { filters }) })).dataTable.map(
        ({ Device, Key }) => `${Device} ${Key}`,
      );
    expect(await rows()).toEqual(['one on']);
    expect(await rows({ Device: ['two'] })).toEqual(['two on']);
    expect(await rows({ Key: [] })).toEqual(['one temperature', 'one temperature', 'one temperature', 'one on']);
  });
});

describe('the door', () => {
  it('takes the token from the header or the query, and is 403 for any other', async () => {
    const { platform, jwt } = await start();
    const url = `${platform.url}/apiAnalytics/publicApi/buildReport`;
    const body = { viewConfigId: ALL ?? '' };
    expect((await send(`${url}?jwt=${jwt}`, body)).status).toBe(200);
    expect((await send(url, body)).status).toBe(403);
    expect((await send(url, body, { jwt: `${jwt.slice(0, -2)}xx` })).status).toBe(403);
    const login = await send(`${platform.url}/api/auth/login`, {
      username: 'tenant@thingsboard.org',
      password: 'tenant',
    });
    expect(
      (await send(url, body, { jwt: (login.body as { readonly refreshToken: string }).refreshToken })).status,
    ).toBe(403);
  });

  it('is 403 for a token that has ended', async () => {
    const { platform, jwt } = await start({ tokenLifetimeMs: 1000 });
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(
      (await send(`${platform.url}/apiAnalytics/publicApi/buildReport`, { viewConfigId: ALL ?? '' }, { jwt })).status,
    ).toBe(403);
  });

  it('is 415 without the JSON content type, 400 for nonsense, 404 for an unknown view', async () => {
    const { platform, jwt } = await start();
    const url = `${platform.url}/apiAnalytics/publicApi/buildReport`;
    expect((await send(url, { viewConfigId: ALL ?? '' }, { jwt, 'content-type': 'text/plain' })).status).toBe(415);
    expect((await send(url, {}, { jwt })).status).toBe(400);
    expect((await send(url, { viewConfigId: ALL ?? '', rangeStartTs: 'soon' }, { jwt })).status).toBe(400);
    expect((await send(url, { viewConfigId: ALL ?? '', filters: { Key: 'x' } }, { jwt })).status).toBe(400);
    expect((await send(url, { viewConfigId: '99999999-2222-4333-8444-777777777777' }, { jwt })).status).toBe(404);
  });

  it('holds exactly pool and queue at a time, and refuses the rest at once with 429', async () => {
    const clock = new FakeClock({ wallMs: Date.now() });
    const { platform, jwt } = await start({ clock, analytics: { threadPoolSize: 3, queueCapacity: 7, delayMs: 400 } });
    const url = `${platform.url}/apiAnalytics/publicApi/buildReport`;
    const statuses: number[] = [];
    const calls = Array.from({ length: 100 }, async () => {
      const { status } = await send(url, { viewConfigId: ALL ?? '' }, { jwt });
      statuses.push(status);
    });
    // No time passes: whoever has an answer did not wait for one of those that run.
    await expect.poll(() => statuses.length, PATIENCE).toBe(90);
    expect(new Set(statuses)).toEqual(new Set([429]));
    expect(platform.reportPool.held).toEqual({ running: 3, waiting: 7 });
    for (const [answered, running] of [
      [93, 3],
      [96, 3],
      [99, 1],
      [100, 0],
    ]) {
      await clock.advance(400);
      await expect
        .poll(() => [statuses.length, platform.reportPool.held.running], PATIENCE)
        .toEqual([answered, running]);
    }
    await Promise.all(calls);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(platform.reportPool.held).toEqual({ running: 0, waiting: 0 });
  });

  it('gives the place of a client that is gone to the next', async () => {
    const { platform, jwt } = await start({ analytics: { threadPoolSize: 1, queueCapacity: 1, delayMs: 10_000 } });
    const url = `${platform.url}/apiAnalytics/publicApi/buildReport`;
    const stops = [new AbortController(), new AbortController()];
    const calls = stops.map(({ signal }) =>
      request(url, {
        method: 'POST',
        headers: { jwt, 'content-type': 'application/json' },
        body: stringifyJson({ viewConfigId: ALL ?? '' }),
        signal,
      }).catch(() => 'gone'),
    );
    await expect.poll(() => platform.reportPool.held).toEqual({ running: 1, waiting: 1 });
    for (const stop of stops) stop.abort();
    expect(await Promise.all(calls)).toEqual(['gone', 'gone']);
    await expect.poll(() => platform.reportPool.held).toEqual({ running: 0, waiting: 0 });
  });
});
