import { describe, expect, it } from 'vitest';
import { GATEWAY_WORDS } from '../../../src/devices/credential-words.ts';
import {
  type ProvisioningDeps,
  type ProvisioningStep,
  provisionDevice,
} from '../../../src/devices/provision-device.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakePlatform, type FakePlatformOptions } from './fake-platform.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const BOARD = { serial: 'SN-1', hostname: 'gateway' };
const SECRET = { deviceKey: 'key-1', deviceSecret: 'secret-1' };
const STEPS: readonly ProvisioningStep[] = ['token-made', 'token-synced', 'asking', 'answered', 'credentials-synced'];

class Killed extends Error {}

/** A board that can be started again and again over the same folder, before the same platform. */
async function given(options: FakePlatformOptions = {}) {
  const folder = await stateFolder();
  const platform = new FakePlatform(options);
  const alerts = new StandingAlerts();
  const clock = new FakeClock();
  const start = async (change: Partial<ProvisioningDeps> = {}, signal = new AbortController().signal) =>
    provisionDevice(
      {
        store: await openStore(folder, alerts),
        provision: platform.provision,
        tokenWorks: platform.tokenWorks,
        clock,
        log: silentLog,
        alerts,
        hide: () => {},
        board: BOARD,
        deviceName: 'gateway-SN-1',
        words: GATEWAY_WORDS,
        secrets: [SECRET],
        randomBytes: systemRandomBytes,
        ...change,
      },
      signal,
    );
  const kept = async () => (await openStore(folder)).record('own');
  return { folder, platform, alerts, clock, start, kept };
}

/** Moves time on, minute by minute, until a condition holds; files take real time in between. */
async function until(clock: FakeClock, condition: () => boolean): Promise<void> {
  while (!condition()) {
    await clock.advance(60_000);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function finished<T>(clock: FakeClock, running: Promise<T>): Promise<T> {
  let done = false;
  void running.finally(() => {
    done = true;
  });
  await until(clock, () => done);
  return running;
}

describe('provisioning', () => {
  it('proposes a token that is on disk before the platform hears of it', async () => {
    const { start, kept, platform } = await given();
    const onDisk: (string | undefined)[] = [];
    await start({
      onStep: () => {},
      provision: async (request) => {
        onDisk.push((await kept())?.accessToken);
        return platform.provision(request);
      },
    });
    expect(onDisk).toEqual([platform.requests[0]?.token]);
    expect(onDisk[0]).toMatch(/^[A-Za-z0-9]{32}$/);
  });

  it('uses whatever token the answer names', async () => {
    const { start, kept } = await given({ makesTokens: true });
    expect((await start()).accessToken).toBe('made-1-by-server');
    expect(await kept()).toMatchObject({
      phase: 'in-use',
      accessToken: 'made-1-by-server',
      deviceName: 'gateway-SN-1',
    });
  });

  it.each(STEPS)('killed at "%s", ends with one device whose token it has', async (step) => {
    const { start, platform, kept } = await given();
    const killed = start({
      onStep: (at) => {
        if (at === step) throw new Killed();
      },
    });
    await expect(killed).rejects.toThrow(Killed);
    if ((await kept())?.phase !== 'in-use') await start();
    expect([...platform.devices.keys()]).toEqual(['gateway-SN-1']);
    expect(platform.devices.get('gateway-SN-1')).toBe((await kept())?.accessToken);
  });

  it('finds its own device again when the answer was lost', async () => {
    const { start, platform, clock } = await given();
    platform.fail('answer-lost');
    const record = await finished(clock, start());
    expect(platform.devices).toEqual(new Map([['gateway-SN-1', record.accessToken]]));
    expect(platform.requests).toHaveLength(2);
  });

  it('waits for the network, and asks with the same token', async () => {
    const { start, platform, clock, alerts } = await given();
    platform.fail('no-connection', 'no-connection', 'no-connection');
    const record = await finished(clock, start());
    expect(platform.requests.map(({ token }) => token)).toEqual([record.accessToken]);
    expect(alerts.standing.size).toBe(0);
  });

  it('says that the device exists and its token is unknown, asks slowly, and takes the place once it is free', async () => {
    const { start, platform, clock, alerts } = await given({ makesTokens: true });
    platform.fail('answer-lost');
    const running = start();
    await until(clock, () => alerts.standing.has('provisioning'));
    expect(alerts.standing.get('provisioning')).toMatch(/device exists, token unknown.*gateway-SN-1/);
    const before = platform.requests.length;
    await clock.advance(3_600_000);
    expect(platform.requests.length - before).toBeLessThan(6);
    platform.devices.delete('gateway-SN-1');
    expect((await finished(clock, running)).accessToken).toBe('made-1-by-server');
    expect(alerts.standing.size).toBe(0);
  });

  it.each(['two\r\nlines', 'with blank', 'nul\0', '\ud800', '', '..', 'x'.repeat(256)])(
    'goes on asking, slowly, when the platform gives %j for a token, and keeps nothing of it',
    async (senseless) => {
      const { start, platform, clock, alerts, kept } = await given();
      let answers = 0;
      const provision: ProvisioningDeps['provision'] = async (request) => {
        answers += 1;
        if (answers > 3) return platform.provision(request);
        return { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: senseless };
      };
      const running = start({ provision });
      await until(clock, () => alerts.standing.has('provisioning'));
      expect(alerts.standing.get('provisioning')).toMatch(/cannot stand in an address/);
      expect((await kept())?.phase).toBe('proposed');
      const record = await finished(clock, running);
      expect([platform.devices.get('gateway-SN-1'), alerts.standing.size]).toEqual([record.accessToken, 0]);
    },
  );

  it('explains an unknown key or secret and does not hammer', async () => {
    const { start, platform, clock, alerts } = await given({ deviceSecret: 'another' });
    const stop = new AbortController();
    const running = start({}, stop.signal);
    await until(clock, () => alerts.standing.has('provisioning'));
    expect(alerts.standing.get('provisioning')).toMatch(/provisioning\.deviceKey and provisioning\.deviceSecret/);
    const before = platform.requests.length;
    await clock.advance(3_600_000);
    expect(platform.requests.length - before).toBeLessThan(6);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: 'provisioning/aborted' });
  });

  it('goes on to the configured secret when the platform does not know the rotated one yet', async () => {
    const { start, platform } = await given();
    await start({ secrets: [{ deviceKey: 'key-1', deviceSecret: 'secret-2' }, SECRET] });
    expect(platform.requests.map(({ provisionDeviceSecret }) => provisionDeviceSecret)).toEqual([
      'secret-2',
      'secret-1',
    ]);
    expect(platform.devices.size).toBe(1);
  });

  it('refuses credentials that are no access token, in words', async () => {
    const { start, alerts, clock } = await given();
    const stop = new AbortController();
    const running = start(
      { provision: async () => ({ status: 'SUCCESS', credentialsType: 'X509_CERTIFICATE', credentialsValue: 'MII' }) },
      stop.signal,
    );
    await until(clock, () => alerts.standing.has('provisioning'));
    expect(alerts.standing.get('provisioning')).toMatch(/X509_CERTIFICATE/);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: 'provisioning/aborted' });
  });

  it('keeps what the platform told while the disk does not take it', async () => {
    const { start, clock, alerts, folder } = await given({ makesTokens: true });
    const faulty = await openStore(folder, alerts);
    const save = faulty.save.bind(faulty);
    let refusals = 2;
    faulty.save = async (place, record) => {
      const next = typeof record === 'function' ? record(faulty.record(place)) : record;
      if (next.phase === 'in-use' && refusals-- > 0) throw new Error('ENOSPC');
      return save(place, next);
    };
    expect((await finished(clock, start({ store: faulty }))).accessToken).toBe('made-1-by-server');
    expect((await openStore(folder)).record('own')?.accessToken).toBe('made-1-by-server');
  });

  it('does not take over what a copied card had asked for on another board', async () => {
    const { start, platform } = await given();
    const first = await start();
    const copy = await start({ board: { serial: 'SN-2', hostname: 'gateway' }, deviceName: 'gateway-SN-2' });
    expect(copy.accessToken).not.toBe(first.accessToken);
    expect(copy.previousTokens ?? []).not.toContain(first.accessToken);
    expect([...platform.devices.keys()]).toEqual(['gateway-SN-1', 'gateway-SN-2']);
  });
});
