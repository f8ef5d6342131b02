import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { type CredentialsSettings, type ObtainCredentialsDeps, obtainCredentials } from '../../../src/provisioning/obtain-credentials.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakePlatform } from './fake-platform.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const BOARD = { serial: 'SN-1', mac: '02aa', hostname: 'gateway' };
const PROVISIONING: NonNullable<CredentialsSettings['provisioning']> = {
  deviceName: 'gateway-{serial}',
  secret: { deviceKey: 'key-1', deviceSecret: 'secret-1' },
  onUnauthorised: 'hold',
};

async function given() {
  const folder = await stateFolder();
  const platform = new FakePlatform();
  const alerts = new StandingAlerts();
  const signal = new AbortController().signal;
  const start = async (settings: CredentialsSettings, change: Partial<ObtainCredentialsDeps> = {}) =>
    obtainCredentials(
      {
        store: await openStore(folder, alerts),
        provision: platform.provision,
        tokenWorks: platform.tokenWorks,
        clock: new FakeClock(),
        log: silentLog,
        alerts,
        hide: () => {},
        board: BOARD,
        settings,
        ...change,
      },
      signal,
    );
  return { folder, platform, alerts, start, signal };
}

describe('obtaining credentials', () => {
  it('provisions once, under a name made of the board, and keeps the credentials', async () => {
    const { start, platform } = await given();
    const first = await start({ provisioning: PROVISIONING });
    const second = await start({ provisioning: PROVISIONING });
    expect(first.deviceName).toBe('gateway-SN-1');
    expect(second.token.accessToken).toBe(first.token.accessToken);
    expect(platform.requests).toHaveLength(1);
  });

  it('lets a configured token win, and comes back to the provisioned one when it is removed', async () => {
    const { start, platform } = await given();
    const own = await start({ provisioning: PROVISIONING });
    expect((await start({ accessToken: 'configured', provisioning: PROVISIONING })).token.accessToken).toBe('configured');
    expect((await start({ provisioning: PROVISIONING })).token.accessToken).toBe(own.token.accessToken);
    expect(platform.requests).toHaveLength(1);
  });

  it('keeps a rotation of the configured token until the configuration names another', async () => {
    const { start, signal } = await given();
    const tokenWorks = async (token: string) => token === 'rotated';
    const { token } = await start({ accessToken: 'configured' }, { tokenWorks });
    await token.offerNext('rotated');
    await token.noteRefused('configured', signal);
    expect((await start({ accessToken: 'configured' })).token.accessToken).toBe('rotated');
    expect((await start({ accessToken: 'another' })).token.accessToken).toBe('another');
  });

  it('says what is missing when there is neither token nor key and secret', async () => {
    const { start } = await given();
    const { secret: _secret, ...without } = PROVISIONING;
    await expect(start({})).rejects.toMatchObject({ code: 'provisioning/no-credentials', recovery: 'stop' });
    await expect(start({ provisioning: without })).rejects.toThrow(/provisioning\.deviceKey/);
  });

  it.each([
    ['{serail}', /\{serail\} is not known/],
    ['{machineId}', /no machineId; it has \{serial\} = SN-1/],
    [' ', /empty/],
  ])('refuses the device name %j in words', async (deviceName, words) => {
    const { start } = await given();
    await expect(start({ provisioning: { ...PROVISIONING, deviceName } })).rejects.toThrow(words);
  });

  it('takes the first of several marks that the board has', async () => {
    const { start } = await given();
    expect((await start({ provisioning: { ...PROVISIONING, deviceName: 'gw-{machineId|mac}' } })).deviceName).toBe('gw-02aa');
  });

  const COPY = { board: { serial: 'SN-2', mac: '02bb', hostname: 'gateway' } };

  it('notices a copied card and goes on', async () => {
    const { start, alerts } = await given();
    const own = await start({ provisioning: PROVISIONING });
    const copy = await start({ provisioning: PROVISIONING }, COPY);
    expect(copy.token.accessToken).toBe(own.token.accessToken);
    expect(copy.held).toBeUndefined();
    expect(alerts.standing.get('credentials-of-another-board')).toMatch(/SN-1.*SN-2/);
    await start({ provisioning: PROVISIONING });
    expect(alerts.standing.size).toBe(0);
  });

  it('notices a copied card with a configured token too', async () => {
    const { start, alerts } = await given();
    await start({ accessToken: 'configured' });
    await start({ accessToken: 'configured' }, COPY);
    expect(alerts.standing.has('credentials-of-another-board')).toBe(true);
  });

  it('holds a copied card, or gives it a device of its own, when the configuration says so', async () => {
    const { start, platform } = await given();
    await start({ provisioning: PROVISIONING });
    expect((await start({ provisioning: { ...PROVISIONING, onOtherBoard: 'hold' } }, COPY)).held).toMatch(/nothing is sent/);
    const own = await start({ provisioning: { ...PROVISIONING, onOtherBoard: 'reprovision' } }, COPY);
    expect(own.deviceName).toBe('gateway-SN-2');
    expect([...platform.devices.keys()]).toEqual(['gateway-SN-1', 'gateway-SN-2']);
    expect(platform.devices.get('gateway-SN-2')).toBe(own.token.accessToken);
  });

  it('does not take a new network card for another board, and learns a serial number that was hidden at first', async () => {
    const { start, alerts, folder } = await given();
    const settings = { accessToken: 'configured' };
    await start(settings, { board: { mac: '02aa', hostname: 'gateway' } });
    await start(settings);
    expect((await openStore(folder)).record('configured')?.board.serial).toBe('SN-1');
    await start(settings, { board: { ...BOARD, mac: '02cc' } });
    expect(alerts.standing.size).toBe(0);
  });
});
