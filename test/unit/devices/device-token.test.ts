import { describe, expect, it } from 'vitest';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import { DeviceToken, type DeviceTokenDeps } from '../../../src/devices/device-token.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  accessToken: 'old',
  board: {},
  generation: 1,
};

async function given(change: Partial<DeviceTokenDeps> = {}, record: CredentialsRecord = RECORD) {
  const folder = await stateFolder();
  const store = await openStore(folder);
  await store.save('own', record);
  const alerts = new StandingAlerts();
  const clock = new FakeClock();
  const platform = { token: 'old', reachable: true };
  const tokenWorks = async (token: string) => {
    if (!platform.reachable) throw new Error('no network');
    return token === platform.token;
  };
  const deps: DeviceTokenDeps = {
    store,
    place: 'own',
    tokenWorks,
    clock,
    log: silentLog,
    hide: () => {},
    ...change,
  };
  const signal = new AbortController().signal;
  const kept = async () => (await openStore(folder)).record('own');
  return { token: new DeviceToken(deps, record), deps, platform, alerts, clock, signal, kept };
}

describe('the device token', () => {
  it('changes over at the first refusal, and forgets the old token after the first success', async () => {
    const { token, platform, signal, kept, deps } = await given();
    await token.offerNext('new');
    expect(token.accessToken).toBe('old');
    platform.token = 'new';
    expect(await token.noteRefused('old', signal)).toBe(true);
    expect(token.accessToken).toBe('new');
    expect(await kept()).toMatchObject({ accessToken: 'new', previousTokens: ['old'] });
    token.noteAccepted('new');
    // Behind what is being written.
    await deps.store.update('own', (record) => record);
    expect(JSON.stringify(await kept())).not.toMatch(/old|nextToken/);
  });

  it('has whichever token the platform accepts on disk at every instant of a rotation', async () => {
    const { token, platform, deps, signal, kept } = await given();
    const holds = async () => {
      const record = await kept();
      const all = [record?.accessToken, record?.nextToken, ...(record?.previousTokens ?? [])];
      expect(all).toContain(platform.token);
      // A restart here finds its way by itself.
      const restarted = new DeviceToken(deps, record as CredentialsRecord);
      if (restarted.accessToken !== platform.token)
        expect(await restarted.noteRefused(restarted.accessToken, signal)).toBe(true);
      expect(restarted.accessToken).toBe(platform.token);
    };
    await token.offerNext('new');
    await holds();
    platform.token = 'new';
    await holds();
  });

  it('goes back to the old token when the platform does', async () => {
    const { token, platform, signal } = await given();
    await token.offerNext('new');
    platform.token = 'new';
    await token.noteRefused('old', signal);
    platform.token = 'old';
    expect(await token.noteRefused('new', signal)).toBe(true);
    expect(token.accessToken).toBe('old');
  });

  it('takes a second offer without giving up the first', async () => {
    const { token, platform, signal } = await given();
    await token.offerNext('new-1');
    await token.offerNext('new-2');
    platform.token = 'new-1';
    expect(await token.noteRefused('old', signal)).toBe(true);
    expect(token.accessToken).toBe('new-1');
  });

  it('tries the offered token while the old one still works, so that no request need fail first', async () => {
    const { token, platform, clock } = await given();
    const stop = new AbortController();
    const running = token.run(stop.signal);
    await clock.advance(1);
    await token.offerNext('new');
    platform.token = 'new';
    await clock.advance(6_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(token.accessToken).toBe('new');
    stop.abort();
    await running;
  });

  it('refuses an offer that cannot be a token, and one that the disk does not take', async () => {
    const { token, deps } = await given();
    await expect(token.offerNext('has space')).rejects.toMatchObject({ code: 'provisioning/bad-token' });
    deps.store.update = async () => {
      throw new Error('ENOSPC');
    };
    await expect(token.offerNext('new')).rejects.toThrow('ENOSPC');
    expect(token.record.nextToken).toBeUndefined();
  });

  it('keeps its token when nothing else is known', async () => {
    const { token, signal } = await given({ tokenWorks: async () => false });
    expect(await token.noteRefused('old', signal)).toBe(false);
    expect(token.accessToken).toBe('old');
  });

  it('learns nothing from a platform that cannot be asked', async () => {
    const { token, platform, signal } = await given();
    await token.offerNext('new');
    platform.reachable = false;
    expect(await token.noteRefused('old', signal)).toBe(false);
    expect(token.accessToken).toBe('old');
    expect(token.record.nextToken).toBe('new');
  });

  it('provisions anew only when it is told to, after refusals over a minute', async () => {
    let provisioned = 0;
    const { token, clock, signal, alerts, deps } = await given({
      tokenWorks: async () => false,
      reprovision: async () => {
        provisioned += 1;
        await deps.store.save('own', { ...RECORD, accessToken: 'fresh' });
        return { ...RECORD, accessToken: 'fresh' };
      },
    });
    for (let refusal = 0; refusal < 5; refusal += 1) expect(await token.noteRefused('old', signal)).toBe(false);
    expect(provisioned).toBe(0);
    await clock.advance(61_000);
    expect(await token.noteRefused('old', signal)).toBe(true);
    expect([provisioned, token.accessToken]).toEqual([1, 'fresh']);
    expect(alerts.standing.size).toBe(0);
  });

  it('leaves an identity alone that takes its place while a success is noted', async () => {
    const { token, deps, kept } = await given();
    await deps.store.save('own', { ...RECORD, phase: 'proposed', accessToken: 'asked for' });
    const replacing = deps.store.replaceOwn({ ...RECORD, phase: 'proposed', accessToken: 'of another' });
    token.noteAccepted('old');
    await replacing;
    await deps.store.update('own', (record) => record);
    expect(await kept()).toMatchObject({ phase: 'proposed', accessToken: 'of another' });
  });

  it('answers many refusals at once with one change-over', async () => {
    const { token, platform, signal, deps } = await given();
    let saves = 0;
    const adopt = deps.store.adopt.bind(deps.store);
    deps.store.adopt = async (place, change) => {
      saves += 1;
      return adopt(place, change);
    };
    await token.offerNext('new');
    platform.token = 'new';
    expect(await Promise.all([1, 2, 3].map(() => token.noteRefused('old', signal)))).toEqual([true, true, true]);
    expect(saves).toBe(1);
  });
});
