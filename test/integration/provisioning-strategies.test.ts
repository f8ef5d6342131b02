/** Provisioning over HTTP against the platform's two strategies and its refusals; what a technician reads is part of the fact. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GATEWAY_WORDS } from '../../src/devices/credential-words.ts';
import { CredentialsStore } from '../../src/devices/credentials-store.ts';
import { obtainCredentials } from '../../src/devices/obtain-credentials.ts';
import { tokenWorks } from '../../src/devices/token-check.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { systemRandomBytes } from '../../src/host/random.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { requestProvisioning } from '../../src/platform/provision-request.ts';
import type { ProvisionType } from '../../src/stand-ins/local-platform/device-registry.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';

let platform: LocalPlatform;
let folder = '';
let boards = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-strategies-'));
  platform = await LocalPlatform.start();
  profile('create', 'ALLOW_CREATE_NEW_DEVICES');
  profile('check', 'CHECK_PRE_PROVISIONED_DEVICES');
  profile('disabled', 'DISABLED');
});

afterAll(async () => {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

function profile(name: string, provisionType: ProvisionType): void {
  const { state } = platform;
  const keys = { provisionDeviceKey: `${name}-key`, provisionDeviceSecret: `${name}-secret` };
  state.registry.profiles.put({
    ...state.registry.defaultProfile,
    id: `profile-${name}`,
    name,
    isDefault: false,
    provisionType,
    ...keys,
  });
}

/** A new board that provisions with the key of a profile; resolves to its token, or to the alert it raised. */
async function provision(
  name: string,
  serial: string,
  secret = `${name}-secret`,
): Promise<{ readonly token?: string; readonly alert?: string }> {
  const stop = new AbortController();
  const settings = { url: platform.url, requestTimeoutMs: 5_000 };
  const open = (token: string): HttpDeviceApi =>
    new HttpDeviceApi({ settings, clock: systemClock, token: () => token });
  const alerted = Promise.withResolvers<string>();
  const alerts = { raise: (_name: string, message: string) => alerted.resolve(message), clear: () => {} };
  boards += 1;
  const common = { alerts, log: silentLog, files: systemFiles, hide: () => {} };
  const stateFolder = await mkdtemp(join(folder, `${boards}-`));
  const obtaining = obtainCredentials(
    {
      ...common,
      words: GATEWAY_WORDS,
      store: await CredentialsStore.open({ ...common, clock: systemClock, stateFolder }),
      settings: {
        provisioning: {
          deviceName: '{serial}',
          secret: { deviceKey: `${name}-key`, deviceSecret: secret },
          onUnauthorised: 'hold',
        },
      },
      provision: (request, signal) => requestProvisioning(request, { settings, clock: systemClock }, signal),
      tokenWorks: (token, signal) => tokenWorks(open, token, signal),
      clock: systemClock,
      randomBytes: systemRandomBytes,
      board: { serial, hostname: 'board' },
    },
    stop.signal,
  );
  const ended = await Promise.race([
    obtaining.then(({ token }) => ({ token: token.accessToken })),
    alerted.promise.then((alert) => ({ alert })),
  ]);
  stop.abort();
  await obtaining.catch(() => {});
  return ended;
}

describe('provisioning', () => {
  it('makes a new device that has the token the board proposed', async () => {
    const { token } = await provision('create', 'SN-1');
    const device = platform.state.registry.byName('SN-1');
    expect(device).toMatchObject({ accessToken: token, profileId: 'profile-create' });
    expect(token).toHaveLength(32);
  });

  it('takes the token of a device that was entered beforehand, once', async () => {
    const { state } = platform;
    state.registry.devices.put(
      state.registry.draft({ name: 'SN-2', profileId: 'profile-check', accessToken: 'entered-by-hand' }, 0),
    );
    expect(await provision('check', 'SN-2')).toEqual({ token: 'entered-by-hand' });
    expect((await provision('check', 'SN-2')).alert).toMatch(/device exists, token unknown/);
  });

  it('says that a board must be entered where the profile only admits such', async () => {
    expect((await provision('check', 'SN-3')).alert).toMatch(
      /only admits devices entered beforehand, enter "SN-3" there/,
    );
    expect(platform.state.registry.byName('SN-3')).toBeUndefined();
  });

  it('says that the device exists when its name is taken', async () => {
    platform.ensureDevice('SN-4', 'of-somebody-else');
    expect((await provision('create', 'SN-4')).alert).toMatch(
      /device exists, token unknown.*"SN-4".*platform\.accessToken/,
    );
    expect(platform.state.registry.byName('SN-4')?.accessToken).toBe('of-somebody-else');
  });

  it.each([
    ['a wrong secret', 'create', 'guessed'],
    ['an unknown key', 'nobody', 'nobody-secret'],
    ['a profile that is switched off', 'disabled', 'disabled-secret'],
  ])('says what to check for %s', async (_what, name, secret) => {
    expect((await provision(name, `SN-of-${name}`, secret)).alert).toMatch(
      /deviceKey and provisioning\.deviceSecret.*switched on/,
    );
    expect(platform.state.registry.byName(`SN-of-${name}`)).toBeUndefined();
  });
});
