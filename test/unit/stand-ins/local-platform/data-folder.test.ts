import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/host/clock.ts';
import { HttpDeviceApi } from '../../../../src/platform/http-device-api.ts';
import { LocalPlatform } from '../../../../src/stand-ins/local-platform/local-platform.ts';
import { stringifyJson } from '../../../../src/values/json.ts';
import { rowsOf } from '../../../support/telemetry-rows.ts';

const never = new AbortController().signal;
let folder: string;
let journal: string;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-data-'));
  journal = join(folder, 'platform.jsonl');
});
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<{ platform: LocalPlatform; id: string; api: HttpDeviceApi }> {
  const platform = await LocalPlatform.start({ dataFolder: folder });
  const { id, accessToken } = platform.ensureDevice('gateway', 'kept-token');
  const api = new HttpDeviceApi({ settings: { url: platform.url }, token: () => accessToken, clock: systemClock });
  open.push(platform, api);
  return { platform, id, api };
}

describe('the data folder', () => {
  it('keeps devices, tokens, telemetry, attributes of all scopes, profiles and views over a restart', async () => {
    const { platform, id, api } = await start();
    const values = { long: 9_007_199_254_740_993n, double: 1.5, text: 'x', json: { a: [1, null] } };
    await api.postTelemetry(rowsOf({ ts: 5, values }), never);
    await api.postAttributes({ mine: 1, gone: 2 }, never);
    platform.state.setAttributes(id, 'SHARED_SCOPE', { wanted: true });
    platform.state.setAttributes(id, 'SERVER_SCOPE', { secret: 's' });
    platform.state.removeAttributes(id, 'CLIENT_SCOPE', ['gone']);
    const [profile] = platform.state.registry.profiles.all;
    const [view] = platform.state.views.all;
    if (view === undefined) throw new Error('no view');
    platform.state.views.put({ ...view, id: '11111111-2222-4333-8444-555555555555', name: 'mine', rangeStartTs: 3 });
    platform.ensureDevice('deleted');
    platform.state.deleteDevice(platform.state.registry.byName('deleted')?.id ?? '');
    await platform.close();

    const again = await LocalPlatform.start({ dataFolder: folder });
    open.push(again);
    expect(again.state.registry.devices.all.map(({ name, accessToken }) => [name, accessToken])).toEqual([
      ['gateway', 'kept-token'],
    ]);
    for (const [key, value] of Object.entries(values))
      expect(again.state.telemetry.series(id, key).latest(), key).toEqual({ ts: 5, value });
    for (const [scope, key, value] of [
      ['CLIENT_SCOPE', 'mine', 1],
      ['SHARED_SCOPE', 'wanted', true],
      ['SERVER_SCOPE', 'secret', 's'],
    ] as const)
      expect(again.state.attributes.read(id, scope)).toMatchObject([{ key, value }]);
    expect(again.state.registry.profiles.all).toEqual([profile]);
    expect(again.state.views.byId('11111111-2222-4333-8444-555555555555')).toMatchObject({
      name: 'mine',
      rangeStartTs: 3,
    });
  });

  it('loses only the last record when the process died in the middle of writing it', async () => {
    const { platform, id, api } = await start();
    await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never);
    await api.postTelemetry(rowsOf({ ts: 2, values: { a: 2 } }), never);
    await platform.close();
    const { length } = await readFile(journal);
    await truncate(journal, length - 5);

    const again = await LocalPlatform.start({ dataFolder: folder });
    open.push(again);
    expect(again.state.telemetry.series(id, 'a').latest()).toEqual({ ts: 1, value: 1 });
    const device = again.state.registry.devices.byId(id);
    if (device === undefined) throw new Error('no device');
    again.state.saveTelemetry(device, { ts: 3, values: { a: 3 } });
    await again.close();
    const third = await LocalPlatform.start({ dataFolder: folder });
    open.push(third);
    expect(third.state.telemetry.series(id, 'a').read({ startTs: 0, endTs: 9, limit: 9, orderBy: 'ASC' })).toEqual([
      { ts: 1, value: 1 },
      { ts: 3, value: 3 },
    ]);
  });

  it('loses only the line that is damaged', async () => {
    const { platform, id, api } = await start();
    await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never);
    await platform.close();
    await appendFile(journal, `\u0000\u0000\u0000\n{"t":"ts","d":"${id}","ts":2,"v":{"a":2}}\n`);
    const again = await LocalPlatform.start({ dataFolder: folder });
    open.push(again);
    expect(again.state.telemetry.series(id, 'a').read({ startTs: 0, endTs: 9, limit: 9, orderBy: 'ASC' })).toEqual([
      { ts: 1, value: 1 },
      { ts: 2, value: 2 },
    ]);
  });

  it('refuses a folder of another program', async () => {
    await writeFile(journal, '{"t":"format","format":"something-else","version":1}\n');
    await expect(LocalPlatform.start({ dataFolder: folder })).rejects.toThrow(/something-else/);
    expect(await readFile(journal, 'utf8')).toContain('something-else');
  });

  it('keeps persistent RPC that nobody has polled, in their order and under new ids, and doubles as doubles', async () => {
    const { platform, id, api } = await start();
    await request(`${platform.url}/api/v1/kept-token/telemetry`, {
      method: 'POST',
      body: '{"ts":5,"values":{"whole":5.0,"j":{"n":1.0}}}',
    });
    const call = { method: 'first', params: { n: 1 }, oneway: false, timeoutMs: 60_000 };
    const delivered = platform.rpc.callPersistently(id, call);
    await api.pollRpc(1000, never);
    const [first, second, late] = ['first', 'second', 'late'].map((method) =>
      platform.rpc.callPersistently(id, { ...call, method, timeoutMs: method === 'late' ? 1 : 60_000 }),
    );
    await platform.close();
    await new Promise((resolve) => setTimeout(resolve, 5));

    const again = await start();
    const state = (rpcId = ''): string | undefined => again.platform.state.rpcs.byId(rpcId)?.status;
    expect([delivered, first, second, late].map((rpc) => state(rpc?.rpcId))).toEqual([
      'DELIVERED',
      'QUEUED',
      'QUEUED',
      'EXPIRED',
    ]);
    expect(await again.api.pollRpc(1000, never)).toEqual({ id: 0, method: 'first', params: { n: 1 } });
    await again.api.replyRpc(0, { result: 1 }, never);
    expect(await again.api.pollRpc(1000, never)).toMatchObject({ id: 1, method: 'second' });
    const { whole, j } = {
      whole: again.platform.state.telemetry.series(id, 'whole').latest(),
      j: again.platform.state.telemetry.series(id, 'j').latest(),
    };
    expect(stringifyJson([whole?.value ?? null, j?.value ?? null])).toBe('[5.0,{"n":1.0}]');
  });

  it('keeps firmware packages and what is assigned', async () => {
    const { platform, id } = await start();
    const image = Buffer.from('firmware '.repeat(1000));
    const login = await request(`${platform.url}/api/auth/login`, {
      method: 'POST',
      body: JSON.stringify({ username: 'tenant@thingsboard.org', password: 'tenant' }),
    });
    const { token } = (await login.body.json()) as { readonly token: string };
    const headers = { 'x-authorization': `Bearer ${token}` };
    const send = async (path: string, body: object): Promise<{ readonly id: { readonly id: string } }> => {
      const answer = await request(`${platform.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.statusCode).toBe(200);
      return (await answer.body.json()) as { readonly id: { readonly id: string } };
    };
    const made = await send('/api/otaPackage', { title: 'agent', version: '2', type: 'FIRMWARE' });
    const form = new FormData();
    form.append('file', new File([new Uint8Array(image)], 'agent.bin'));
    const filled = await fetch(`${platform.url}/api/otaPackage/${made.id.id}?checksumAlgorithm=MD5`, {
      method: 'POST',
      headers,
      body: form,
    });
    expect(filled.status).toBe(200);
    await filled.body?.cancel();
    await send('/api/device', { id: { id }, name: 'gateway', firmwareId: made.id });
    await platform.close();

    const { api } = await start();
    const { stream } = await api.getFirmware({ title: 'agent', version: '2' }, never);
    const parts: Uint8Array[] = [];
    for await (const part of stream) parts.push(part);
    expect(Buffer.concat(parts).equals(image)).toBe(true);
  });
});

it('answers for the device that was given a token last, where another had it before', async () => {
  const { platform, api } = await start();
  const { id } = platform.ensureDevice('another', 'kept-token');
  await api.postTelemetry(rowsOf({ ts: 5, values: { k: 1 } }), never);
  expect(platform.state.telemetry.keys(id)).toEqual(['k']);
});
