import { describe, expect, it } from 'vitest';
import { BESIDE_WORDS, GATEWAY_WORDS } from '../../../src/devices/credential-words.ts';
import {
  type CredentialsSettings,
  leaveOtherBoard,
  type ObtainCredentialsDeps,
  obtainCredentials,
} from '../../../src/devices/obtain-credentials.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
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
  const start = async (settings: CredentialsSettings, change: Partial<ObtainCredentialsDeps> = {}) => {
    const deps = {
      store: await openStore(folder, alerts),
      provision: platform.provision,
      tokenWorks: platform.tokenWorks,
      clock: new FakeClock(),
      randomBytes: systemRandomBytes,
      log: silentLog,
      alerts,
      hide: () => {},
      board: BOARD,
      settings,
      words: GATEWAY_WORDS,
      ...change,
    };
    await leaveOtherBoard(deps);
    return obtainCredentials(deps, signal);
  };
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
    expect((await start({ accessToken: 'configured', provisioning: PROVISIONING })).token.accessToken).toBe(
      'configured',
    );
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

  it('has the rotation of a configured token again when the configuration names it again, and takes nothing of it for another', async () => {
    const { start, signal } = await given();
    const tokenWorks = async (token: string) => token === 'rotated';
    const { token } = await start({ accessToken: 'configured' }, { tokenWorks });
    await token.offerNext('rotated');
    await token.noteRefused('configured', signal);
    for (const wrong of ['slip-1', 'slip-2', 'slip-1']) {
      const other = (await start({ accessToken: wrong }, { tokenWorks })).token;
      expect([await other.noteRefused(wrong, signal), other.accessToken]).toEqual([false, wrong]);
    }
    expect((await start({ accessToken: 'configured' })).token.accessToken).toBe('rotated');
    for (let n = 0; n < 5; n += 1) await start({ accessToken: `other-${n}` });
    expect((await start({ accessToken: 'configured' })).token.accessToken).toBe('configured');
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
    expect((await start({ provisioning: { ...PROVISIONING, deviceName: 'gw-{machineId|mac}' } })).deviceName).toBe(
      'gw-02aa',
    );
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
    expect((await start({ provisioning: { ...PROVISIONING, onOtherBoard: 'hold' } }, COPY)).held).toMatch(
      /nothing is sent/,
    );
    const own = await start({ provisioning: { ...PROVISIONING, onOtherBoard: 'reprovision' } }, COPY);
    expect(own.deviceName).toBe('gateway-SN-2');
    expect([...platform.devices.keys()]).toEqual(['gateway-SN-1', 'gateway-SN-2']);
    expect(platform.devices.get('gateway-SN-2')).toBe(own.token.accessToken);
  });

  it('sends a person with a copied card of an attached device to the commands and settings of that device', async () => {
    for (const [settings, ofDevice] of [
      [{ provisioning: PROVISIONING }, /onOtherBoard: continue.*turnstone devices remove$/],
      [{ accessToken: 'meter-token', provisioning: PROVISIONING }, /give its entry of devices: another token$/],
    ] as const) {
      const { start } = await given();
      await start(settings);
      const copied = { ...settings, provisioning: { ...PROVISIONING, onOtherBoard: 'hold' as const } };
      const { held } = await start(copied, { ...COPY, words: BESIDE_WORDS });
      expect(held).toMatch(ofDevice);
      expect(held).not.toMatch(/turnstone identity|platform\.accessToken/);
    }
  });

  it('sets aside what another board measured where it makes a device of its own, also one that had not been provisioned yet, and once', async () => {
    for (const phase of ['in-use', 'proposed'] as const) {
      const { folder, alerts, start } = await given();
      await start({ provisioning: PROVISIONING });
      if (phase === 'proposed') await (await openStore(folder)).update('own', (record) => ({ ...record, phase }));
      const settings = { provisioning: { ...PROVISIONING, onOtherBoard: 'reprovision' as const } };
      const leave = async (change: object = {}): Promise<boolean> => {
        const store = await openStore(folder);
        await leaveOtherBoard({ settings, store, alerts, ...COPY, ...change });
        return (await openStore(folder)).setsQueueAside;
      };
      expect([await leave({ board: BOARD }), await leave({ settings: {} })]).toEqual([false, false]);
      const holds = { provisioning: { ...PROVISIONING, onOtherBoard: 'hold' as const } };
      if (phase === 'in-use') expect(await leave({ settings: holds })).toBe(false);
      expect([await leave(), (await openStore(folder)).record('own')]).toEqual([true, undefined]);
      // There is nothing left to adopt, and nobody is sent to do it.
      expect(alerts.standing.get('credentials-of-another-board')).toMatch(
        /SN-1.*SN-2.*(?<!adopt.*)identity import(?!.*adopt)/,
      );
      await (await openStore(folder)).queueIsAside();
      // Without network: started again before it has a device.
      expect(await leave()).toBe(false);
      await start(settings, COPY);
      expect(await leave()).toBe(false);
    }
  });

  it('provisions itself anew after refusals only where that is wanted, can be, and the token is its own', async () => {
    for (const [settings, expected] of [
      [{ provisioning: { ...PROVISIONING, onUnauthorised: 'reprovision' } }, true],
      [{ provisioning: PROVISIONING }, false],
      [{ accessToken: 'configured', provisioning: { ...PROVISIONING, onUnauthorised: 'reprovision' } }, false],
    ] as const) {
      const { start, platform, signal } = await given();
      const clock = new FakeClock();
      const found = await start(settings, { clock });
      const { token } = found;
      expect(found.deviceName !== undefined).toBe(!('accessToken' in settings));
      platform.devices.clear();
      const used = token.accessToken;
      for (let refusal = 0; refusal < 2; refusal += 1) await token.noteRefused(used, signal);
      await clock.advance(60_000);
      expect(await token.noteRefused(used, signal)).toBe(expected);
      expect(token.accessToken !== used).toBe(expected);
    }
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
