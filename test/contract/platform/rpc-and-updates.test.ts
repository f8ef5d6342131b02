/** Endpoints 4 to 7: long polls for attribute updates and RPC, replies, and what the people's side sees of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, Server, until } from './server.ts';

const never = new AbortController().signal;
let server: Server;

beforeAll(async () => {
  server = await Server.open();
});
afterAll(() => server.close());

describe('attribute updates', () => {
  it('wake a waiting poll with the changed shared attributes', async () => {
    const { id, api } = await server.makeDevice();
    const shared = { wanted: 5, long: 9_007_199_254_740_993n };
    const set = (): Promise<unknown> =>
      server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, shared);
    expect(await until(api.pollAttributes(20_000, never), set)).toEqual({ changed: shared, deleted: [] });
  });

  it('name deleted keys', async () => {
    const { id, api } = await server.makeDevice();
    await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, { wanted: 5 });
    const remove = (): Promise<unknown> =>
      server.rest('DELETE', `/api/plugins/telemetry/DEVICE/${id}/SHARED_SCOPE?keys=wanted`);
    const updates = await eventually(
      () => until(api.pollAttributes(20_000, never), remove),
      // Values that were set before may be told late.
      (update) => update?.deleted.length === 1,
    );
    expect(updates).toEqual({ changed: {}, deleted: ['wanted'] });
  });

  it('are nothing when the time is over', async () => {
    const { api } = await server.makeDevice();
    expect(await api.pollAttributes(500, never)).toBeUndefined();
  });

  it('end with nothing when the agent stops waiting', async () => {
    const { api } = await server.makeDevice();
    const stop = new AbortController();
    const poll = api.pollAttributes(20_000, stop.signal);
    stop.abort();
    expect(await poll).toBeUndefined();
  });
});

describe('RPC to the device', () => {
  it('reaches a waiting poll, and the reply reaches the caller', async () => {
    const { id, api } = await server.makeDevice();
    const poll = api.pollRpc(10_000, never);
    const call = server.rest('POST', `/api/rpc/twoway/${id}`, {
      method: 'setRelay',
      params: { on: true, count: 9_007_199_254_740_993n },
    });
    const request = await poll;
    expect(request).toEqual({ id: 0, method: 'setRelay', params: { on: true, count: 9_007_199_254_740_993n } });
    await api.replyRpc(request?.id ?? -1, { result: [1, 2.5] }, never);
    expect(await call).toEqual({ status: 200, body: { result: [1, 2.5] } });
  });

  it('is handed out on every poll until it is answered', async () => {
    const { id, api } = await server.makeDevice();
    const call = server.rest('POST', `/api/rpc/twoway/${id}`, { method: 'slow', params: {} });
    const first = await api.pollRpc(5_000, never);
    expect(await api.pollRpc(5_000, never)).toEqual(first);
    await api.replyRpc(first?.id ?? -1, { result: 1 }, never);
    expect((await call).status).toBe(200);
    expect(await api.pollRpc(500, never)).toBeUndefined();
  });

  it('ends with 504 when nobody answers', async () => {
    const { id } = await server.makeDevice();
    const startMs = Date.now();
    expect(
      (await server.rest('POST', `/api/rpc/twoway/${id}`, { method: 'x', params: {}, timeout: 5000 })).status,
    ).toBe(504);
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(4900);
  });

  it('one-way is done at once and needs no answer', async () => {
    const { id, api } = await server.makeDevice();
    const poll = api.pollRpc(10_000, never);
    expect((await server.rest('POST', `/api/rpc/oneway/${id}`, { method: 'blink', params: {} })).status).toBe(200);
    expect(await poll).toMatchObject({ method: 'blink' });
    expect(await api.pollRpc(500, never)).toBeUndefined();
  });

  it('takes a reply to a request that is long forgotten', async () => {
    const { api } = await server.makeDevice();
    await expect(api.replyRpc(12_345, { result: 1 }, never)).resolves.toBeUndefined();
  });

  it('persistent: waits for its device and keeps the answer', async () => {
    const { id, api } = await server.makeDevice();
    const { body } = await server.rest('POST', `/api/rpc/twoway/${id}`, {
      method: 'later',
      params: {},
      persistent: true,
    });
    const { rpcId } = body as { readonly rpcId: string };
    const request = await api.pollRpc(10_000, never);
    expect(request).toMatchObject({ method: 'later' });
    await api.replyRpc(request?.id ?? -1, { result: 'kept' }, never);
    const state = await eventually(
      () => server.rest('GET', `/api/rpc/persistent/${rpcId}`),
      ({ body: found }) => (found as { readonly status?: string }).status === 'SUCCESSFUL',
    );
    expect(state.body).toMatchObject({ status: 'SUCCESSFUL', response: { result: 'kept' } });
    expect((await server.rest('DELETE', `/api/rpc/persistent/${rpcId}`)).status).toBe(200);
  });
});
