import { describe, expect, it } from 'vitest';
import { tokenAwareDeviceApi } from '../../../src/devices/token-aware-device-api.ts';
import { tokenWorks } from '../../../src/devices/token-check.ts';
import { CREDENTIAL_OPERATIONS } from '../../../src/operations/credential-operations.ts';
import { operationsOn } from '../../../src/operations/operation.ts';
import type { DeviceApi, UploadAnswer } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
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
  const aware = tokenAwareDeviceApi({
    deviceApi: () => deviceApi,
    held: () => options.held,
    token: () => ({
      accessToken: state.token,
      noteAccepted: (token) => void state.accepted.push(token),
      noteRefused: async () => {
        state.token = next;
        return next === takes;
      },
    }),
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

  it('takes an upload that somebody else forbids for no word about the token', async () => {
    const { aware, state, deviceApi } = given({ takes: 'new' });
    deviceApi.postTelemetry = async () => ({ kind: 'unauthorised', status: 403, text: '' });
    expect(await aware.postTelemetry(rowsOf(), signal)).toMatchObject({ status: 403 });
    expect(state.token).toBe('old');
  });

  it('does not repeat when there is no other token', async () => {
    const { aware, state } = given({ takes: 'neither' });
    expect(await aware.postTelemetry(rowsOf(), signal)).toMatchObject({ kind: 'unauthorised', status: 401 });
    await expect(aware.replyRpc(1, null, signal)).rejects.toMatchObject({ code: 'platform/unauthorised' });
    expect(state.calls).toBe(2);
  });

  it('sends nothing while the identity is held', async () => {
    const { aware, state } = given({ held: 'moved to another board' });
    expect(await aware.postTelemetry(rowsOf(), signal)).toEqual({
      kind: 'unauthorised',
      status: 0,
      text: 'moved to another board',
    });
    await expect(aware.replyRpc(1, null, signal)).rejects.toThrow('moved to another board');
    expect(state.calls).toBe(0);
  });
});

describe('every call', () => {
  const CALLS: Readonly<Record<string, readonly unknown[]>> = {
    postAttributes: [{ a: 1 }],
    getAttributes: [{ clientKeys: ['a'] }],
    pollAttributes: [1_000],
    pollRpc: [2_000],
    replyRpc: [7, { ok: true }],
    clientRpc: ['method', { a: 1 }],
    claim: [{ secretKey: 's' }],
    getFirmware: [{ title: 't', version: '1' }],
  };

  /** An API that notes what it is asked, and fails at first. */
  function noting(fault?: Error) {
    const asked: unknown[] = [];
    const refused: string[] = [];
    let faults = fault === undefined ? 0 : 1;
    const deviceApi = new Proxy(
      {},
      {
        get:
          (_target, name) =>
          async (...params: unknown[]) => {
            asked.push([name, ...params]);
            if (faults-- > 0) throw fault;
            return `answer to ${String(name)}`;
          },
      },
      // Whatever is called is a method of it.
    ) as DeviceApi;
    const noteRefused = async (token: string): Promise<boolean> => {
      refused.push(token);
      return true;
    };
    const aware = tokenAwareDeviceApi({
      deviceApi: () => deviceApi,
      held: () => undefined,
      token: () => ({ accessToken: 'old', noteAccepted: () => {}, noteRefused }),
    });
    // The methods by name: their parameters are those of the table.
    const call = (name: string, params: readonly unknown[]): Promise<unknown> =>
      (aware as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>)[name]?.(...params, signal) ??
      Promise.reject(new Error(name));
    return { aware, asked, refused, call };
  }

  it.each(Object.entries(CALLS))('%s is handed on with all it was given, and its answer back', async (name, params) => {
    const { asked, refused, call } = noting();
    expect(await call(name, params)).toBe(`answer to ${name}`);
    expect([asked, refused]).toEqual([[[name, ...params, signal]], []]);
  });

  it.each(Object.entries(CALLS))('%s is repeated after a 401 alone', async (name, params) => {
    const after401 = noting(new PlatformError('unauthorised', 'no', { status: 401 }));
    expect(await after401.call(name, params)).toBe(`answer to ${name}`);
    expect([after401.asked.length, after401.refused]).toEqual([2, ['old']]);
    for (const fault of [
      new PlatformError('unauthorised', 'no', { status: 403 }),
      Object.assign(new Error('no'), { status: 401 }),
    ]) {
      const other = noting(fault);
      await expect(other.call(name, params)).rejects.toBe(fault);
      expect([other.asked.length, other.refused]).toEqual([1, []]);
    }
  });

  it('closing and preparing are handed on too', async () => {
    const { aware, asked } = noting();
    const rows = rowsOf();
    aware.prepareTelemetry(rows);
    await aware.close();
    expect(asked).toEqual([['prepareTelemetry', rows], ['close']]);
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
    const methods = operationsOn(CREDENTIAL_OPERATIONS, {
      token: { offerNext: async (token) => void offered.push(token) },
      store,
    });
    const run = async (name: string, params: Record<string, string>) =>
      methods.find((method) => method.name === name)?.run(params, { asker: 'platform', note: undefined, signal });
    expect(await run('setNextAccessToken', { accessToken: 'next-token' })).toEqual({ ready: true });
    expect(await run('setProvisioningSecret', { deviceKey: 'k2', deviceSecret: 's2' })).toEqual({ ready: true });
    expect(offered).toEqual(['next-token']);
    expect((await openStore(folder)).provisionSecret).toEqual({ deviceKey: 'k2', deviceSecret: 's2' });
  });
});
