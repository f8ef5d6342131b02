/** Provisioning and claiming as the local platform decides them. */
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/host/clock.ts';
import type { ProvisionAnswer, ProvisionRequest } from '../../../../src/platform/device-api.ts';
import { requestProvisioning } from '../../../../src/platform/provision-request.ts';
import { LocalPlatform, type LocalPlatformOptions } from '../../../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject, JsonValue } from '../../../../src/values/json.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const never = new AbortController().signal;
const open: LocalPlatform[] = [];

afterEach(async () => {
  for (const platform of open.splice(0)) await platform.close();
});

async function start(options: LocalPlatformOptions = {}): Promise<LocalPlatform> {
  const platform = await LocalPlatform.start(options);
  open.push(platform);
  return platform;
}

async function send(
  platform: LocalPlatform,
  path: string,
  body: JsonObject,
  token?: string,
): Promise<{ status: number; body: JsonValue }> {
  const answer = await request(`${platform.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { 'x-authorization': `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, body: text === '' ? null : (JSON.parse(text) as JsonValue) };
}

async function login(platform: LocalPlatform, who: 'tenant' | 'customer'): Promise<string> {
  const { body } = await send(platform, '/api/auth/login', { username: `${who}@thingsboard.org`, password: who });
  return (body as { readonly token: string }).token;
}

async function profile(platform: LocalPlatform, provisionType: string): Promise<string> {
  const { body } = await send(
    platform,
    '/api/deviceProfile',
    {
      name: `p-${provisionType}`,
      type: 'DEFAULT',
      transportType: 'DEFAULT',
      provisionType,
      provisionDeviceKey: 'key',
      profileData: {
        transportConfiguration: { type: 'DEFAULT' },
        provisionConfiguration: { type: provisionType, provisionDeviceSecret: 'secret' },
      },
    },
    await login(platform, 'tenant'),
  );
  return (body as { readonly id: { readonly id: string } }).id.id;
}

function provision(platform: LocalPlatform, more: Partial<ProvisionRequest> = {}): Promise<ProvisionAnswer> {
  const ask = { deviceName: 'gw', provisionDeviceKey: 'key', provisionDeviceSecret: 'secret', ...more };
  return requestProvisioning(ask, { settings: { url: platform.url }, clock: systemClock }, never);
}

describe('provisioning', () => {
  it('creates a device with a token of its own making when none is proposed', async () => {
    const platform = await start();
    await profile(platform, 'ALLOW_CREATE_NEW_DEVICES');
    const answer = await provision(platform);
    expect(answer).toMatchObject({ status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN' });
    expect(platform.state.registry.byName('gw')?.accessToken).toBe(
      answer.status === 'SUCCESS' ? answer.credentialsValue : '',
    );
  });

  it('ignores the proposed token in legacy mode, as a server that knows only the contract', async () => {
    const platform = await start({ legacyProvisioning: true });
    await profile(platform, 'ALLOW_CREATE_NEW_DEVICES');
    const answer = await provision(platform, { token: 'proposed' });
    expect(answer.status === 'SUCCESS' && answer.credentialsValue).not.toBe('proposed');
    expect(platform.state.registry.byToken('proposed')).toBeUndefined();
  });

  it('refuses a name that exists, and a token that somebody has', async () => {
    const platform = await start();
    await profile(platform, 'ALLOW_CREATE_NEW_DEVICES');
    platform.ensureDevice('other', 'taken');
    expect(await provision(platform, { deviceName: 'other' })).toMatchObject({ status: 'FAILURE' });
    expect(await provision(platform, { token: 'taken' })).toMatchObject({ status: 'FAILURE' });
    expect(platform.state.registry.devices.all).toHaveLength(1);
  });

  it('finds nothing for a wrong secret, an unknown key or a profile that provisions nobody', async () => {
    const platform = await start();
    await profile(platform, 'DISABLED');
    expect(await provision(platform)).toMatchObject({ status: 'NOT_FOUND' });
    expect(await provision(platform, { provisionDeviceSecret: 'wrong' })).toMatchObject({ status: 'NOT_FOUND' });
    expect(await provision(platform, { provisionDeviceKey: 'wrong' })).toMatchObject({ status: 'NOT_FOUND' });
  });

  it('gives a device that was made before its own token, once', async () => {
    const platform = await start();
    const profileId = await profile(platform, 'CHECK_PRE_PROVISIONED_DEVICES');
    expect(await provision(platform)).toMatchObject({ status: 'FAILURE' });
    platform.state.registry.devices.put(
      platform.state.registry.draft({ name: 'gw', profileId, accessToken: 'made-before' }, 0),
    );
    expect(await provision(platform, { token: 'proposed' })).toEqual({
      status: 'SUCCESS',
      credentialsType: 'ACCESS_TOKEN',
      credentialsValue: 'made-before',
    });
    expect(await provision(platform)).toMatchObject({ status: 'FAILURE' });
  });

  it('makes a name up when none is given, and refuses a blank one', async () => {
    const platform = await start();
    await profile(platform, 'ALLOW_CREATE_NEW_DEVICES');
    expect(await provision(platform, { deviceName: '' })).toMatchObject({ status: 'SUCCESS' });
    expect(platform.state.registry.devices.all.map(({ name }) => name)).toEqual([expect.stringMatching(/^\w{20}$/)]);
    expect(await provision(platform, { deviceName: ' ' })).toMatchObject({ status: 'FAILURE' });
  });

  it('is 500 with JSON when key or secret are missing', async () => {
    const platform = await start();
    const answer = await send(platform, '/api/v1/provision', { deviceName: 'gw' });
    expect(answer).toMatchObject({ status: 500, body: { status: 500, message: expect.any(String) } });
  });
});

describe('claiming', () => {
  const claimed = async (platform: LocalPlatform, secretKey?: string): Promise<unknown> => {
    const body = secretKey === undefined ? {} : { secretKey };
    const answer = await send(platform, '/api/customer/device/gw/claim', body, await login(platform, 'customer'));
    // A refusal is a bare word with 400.
    return answer.status === 400 ? answer.body : (answer.body as { readonly response?: string }).response;
  };
  const ask = (platform: LocalPlatform, body: JsonObject): Promise<{ status: number }> =>
    send(platform, '/api/v1/token/claim', body);

  it('succeeds with the secret, once', async () => {
    const platform = await start();
    platform.ensureDevice('gw', 'token');
    expect(await claimed(platform, 's')).toBe('FAILURE');
    expect((await ask(platform, { secretKey: 's', durationMs: 60_000 })).status).toBe(200);
    expect(await claimed(platform, 's')).toBe('SUCCESS');
    expect(await claimed(platform, 's')).toBe('CLAIMED');
    expect(platform.state.registry.byName('gw')?.customer).toBe('customer@thingsboard.org');
  });

  it('is over with a wrong secret: the right one fails too until the device claims again', async () => {
    const platform = await start();
    platform.ensureDevice('gw', 'token');
    await ask(platform, { secretKey: 's' });
    expect(await claimed(platform, 'wrong')).toBe('FAILURE');
    expect(await claimed(platform, 's')).toBe('FAILURE');
    await ask(platform, { secretKey: 's' });
    expect(await claimed(platform, 's')).toBe('SUCCESS');
  });

  it('has an empty secret when none is given', async () => {
    const platform = await start();
    platform.ensureDevice('gw', 'token');
    await ask(platform, {});
    expect(await claimed(platform)).toBe('SUCCESS');
  });

  it('expires after its own time, or after the default when it has none', async () => {
    for (const body of [{ secretKey: 's', durationMs: 5000 }, { secretKey: 's' }, { secretKey: 's', durationMs: 0 }]) {
      const clock = new FakeClock({ wallMs: Date.now() });
      const platform = await start({ clock, claimDurationMs: 5000 });
      platform.ensureDevice('gw', 'token');
      await ask(platform, body);
      clock.stepWall(5000);
      expect(await claimed(platform, 's')).toBe('FAILURE');
      await ask(platform, body);
      clock.stepWall(4999);
      expect(await claimed(platform, 's')).toBe('SUCCESS');
    }
  });

  it('is not changed by a second claim before the first has expired', async () => {
    const platform = await start();
    platform.ensureDevice('gw', 'token');
    await ask(platform, { secretKey: 'first' });
    expect((await ask(platform, { secretKey: 'second' })).status).toBe(200);
    expect(await claimed(platform, 'first')).toBe('SUCCESS');
  });

  it('is for customers only', async () => {
    const platform = await start();
    platform.ensureDevice('gw', 'token');
    await ask(platform, {});
    expect((await send(platform, '/api/customer/device/gw/claim', {}, await login(platform, 'tenant'))).status).toBe(
      403,
    );
    expect((await send(platform, '/api/customer/device/gw/claim', {})).status).toBe(401);
  });
});
