import { describe, expect, it } from 'vitest';
import type { DeviceApi, UploadAnswer } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { credentialMethods } from '../../../src/provisioning/credential-methods.ts';
import { TokenAwareDeviceApi } from '../../../src/provisioning/token-aware-device-api.ts';
import { tokenWorks } from '../../../src/provisioning/token-check.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { openStore, stateFolder } from './state-folder.ts';

const signal = new AbortController().signal;

/** A platform that takes one token, and a token that changes over when it is refused. */
function given(options: { held?: string; next?: string; takes?: string } = {}) {
  const { takes = 'old', next = 'new' } = options;
  const state = { token: 'old', accepted: [] as string[], calls: 0 };
  const refuse = (): void => {
    state.calls += 1;
    if (state.token !== takes) throw new PlatformError('unauthorised', 'the platform answered 401', { status: 401 });
  };
  const deviceApi = {
    postTelemetry: async (): Promise<UploadAnswer> => {
      state.calls += 1;
      return state.token === takes ? { kind: 'accepted' } : { kind: 'unauthorised', status: 401, text: '' };
    },
    replyRpc: async () => refuse(),
    getAttributes: async () => {
      refuse();
      return { client: {}, shared: {}, empty: true };
    },
    close: async () => {},
  } as unknown as DeviceApi;
  const aware = new TokenAwareDeviceApi({
    deviceApi,
    held: () => options.held,
    token: {
      get accessToken() {
        return state.token;
      },
      noteAccepted: (token) => void state.accepted.push(token),
      noteRefused: async () => {
        state.token = next;
        return next === takes;
      },
    },
  });
  return { aware, state, deviceApi };
}

describe('the device API with the fate of its token', () => {
  it('tells of what was accepted', async () => {
    const { aware, state } = given();
    expect(await aware.postTelemetry(rowsOf(), signal)).toEqual({ kind: 'accepted' });
    expect(state.accepted).toEqual(['old']);
  });

  it('repeats a refused request once with the token changed over to', async () => {
    const uploads = given({ takes: 'new' });
    expect(await uploads.aware.postTelemetry(rowsOf(), signal)).toEqual({ kind: 'accepted' });
    const calls = given({ takes: 'new' });
    await calls.aware.replyRpc(1, null, signal);
    expect([uploads.state.calls, calls.state.calls]).toEqual([2, 2]);
  });

  it('does not repeat when there is no other token', async () => {
    const { aware, state } = given({ takes: 'neither' });
    expect(await aware.postTelemetry(rowsOf(), signal)).toMatchObject({ kind: 'unauthorised', status: 401 });
    await expect(aware.replyRpc(1, null, signal)).rejects.toMatchObject({ code: 'platform/unauthorised' });
    expect(state.calls).toBe(2);
  });

  it('sends nothing while the identity is held', async () => {
    const { aware, state } = given({ held: 'moved to another board' });
    expect(await aware.postTelemetry(rowsOf(), signal)).toEqual({ kind: 'unauthorised', status: 0, text: 'moved to another board' });
    await expect(aware.replyRpc(1, null, signal)).rejects.toThrow('moved to another board');
    expect(state.calls).toBe(0);
  });
});

describe('asking whether a token works', () => {
  it('takes only 401 for a no', async () => {
    expect(await tokenWorks(() => given().deviceApi, 'old', signal)).toBe(true);
    expect(await tokenWorks(() => given({ takes: 'neither' }).deviceApi, 'old', signal)).toBe(false);
    const forbidden = {
      getAttributes: async () => {
        throw new PlatformError('unauthorised', 'the platform answered 403', { status: 403 });
      },
      close: async () => {},
    };
    await expect(tokenWorks(() => forbidden, 'old', signal)).rejects.toMatchObject({ status: 403 });
  });
});

describe('the methods that replace secrets', () => {
  it('answer once the next secret is kept, without naming it', async () => {
    const offered: string[] = [];
    const folder = await stateFolder();
    const store = await openStore(folder);
    const methods = credentialMethods({ token: () => ({ offerNext: async (token) => void offered.push(token) }), store });
    const run = async (name: string, params: Record<string, string>) =>
      methods.find((method) => method.name === name)?.run(params, { note: undefined, signal });
    expect(await run('setNextAccessToken', { accessToken: 'next-token' })).toEqual({ ready: true });
    expect(await run('setProvisioningSecret', { deviceKey: 'k2', deviceSecret: 's2' })).toEqual({ ready: true });
    expect(offered).toEqual(['next-token']);
    expect((await openStore(folder)).provisionSecret).toEqual({ deviceKey: 'k2', deviceSecret: 's2' });
  });
});
