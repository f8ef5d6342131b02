/** An attached device that goes from one gateway to another: two stores, two boards, one file. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { DeviceConfig } from '../../../src/config/schema/devices.ts';
import { sealArchive } from '../../../src/devices/archive.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { DeviceNames } from '../../../src/devices/device-names.ts';
import { DEVICE_NAMES_FORMAT } from '../../../src/devices/kept-names.ts';
import { leaveDevice, packDevice, takeDevice } from '../../../src/devices/move-device.ts';
import { packIdentity, unpackIdentity } from '../../../src/devices/move-identity.ts';
import { type AgentLog, silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const PASSPHRASE = 'correct horse battery';
const log = { ...silentLog, hide: () => {} } as unknown as AgentLog;

/** A gateway with these slots; what it ends and makes anew is written down. */
async function gateway(serial: string, slots: readonly DeviceConfig[]) {
  const clock = new FakeClock();
  const files = new MemoryFiles();
  const machine = { clock, files, randomBytes: systemRandomBytes };
  const names = await DeviceNames.open({
    clock,
    log,
    gatewayName: () => serial,
    matches: () => true,
    file: new StateFile({ ...DEVICE_NAMES_FORMAT, path: '/names.json', files, clock, log }),
  });
  names.configure(slots);
  const done: string[] = [];
  const devices = {
    find: () => undefined,
    end: async (id: string) => void done.push(`end ${id}`),
    change: async (id: string, work: () => Promise<void> | void) => {
      done.push(`change ${id}`);
      await work();
    },
  };
  const board = { serial, hostname: 'gw' };
  const deps = { machine, log, board, names, devices, folder: '/known', placeName: (id: string) => id };
  const store = async (id: string): Promise<CredentialsStore> => {
    await files.makeFolder(`/known/${id}`);
    const alerts = { raise: () => {}, clear: () => {} };
    return CredentialsStore.open({ stateFolder: `/known/${id}`, files, clock, log, alerts, hide: () => {} });
  };
  const own = async (id: string, accessToken: string): Promise<void> =>
    (await store(id)).save('own', {
      phase: 'in-use',
      source: 'provisioned',
      deviceName: `${serial} ${id}`,
      accessToken,
      board,
      generation: 2,
    });
  const take = (text: string, slot: string, { replace = false, passphrase = PASSPHRASE } = {}) =>
    takeDevice(deps, { slot, text, passphrase, replace }, slots);
  return { deps, names, done, store, own, take };
}

const slot = (name: string, more: Partial<DeviceConfig> = {}): DeviceConfig =>
  ({ name, deviceName: '{gateway} {name}', ...more }) as DeviceConfig;

let roof: Awaited<ReturnType<typeof gateway>>;
let cellar: Awaited<ReturnType<typeof gateway>>;
beforeEach(async () => {
  roof = await gateway('roof', [slot('meter')]);
  cellar = await gateway('cellar', [slot('heat')]);
  await roof.own('meter', 'the-token');
});

describe('a device that is packed', () => {
  it('stays where it is until it leaves; then it is in no slot, and its token stays for what waits', async () => {
    const text = await packDevice(roof.deps, 'meter', PASSPHRASE);
    expect(text).not.toContain('the-token');
    expect(roof.names.idOf('meter')).toBe('meter');
    await leaveDevice(roof.deps, 'meter');
    expect([roof.names.idOf('meter'), roof.done]).toEqual(['?meter', ['end meter']]);
    expect((await roof.store('meter')).record('own')?.accessToken).toBe('the-token');
  });

  it('needs credentials, and a passphrase that is not guessed', async () => {
    await expect(packDevice(roof.deps, '?other', PASSPHRASE)).rejects.toMatchObject({
      code: 'provisioning/no-credentials',
    });
    await expect(packDevice(roof.deps, 'meter', 'short')).rejects.toMatchObject({
      code: 'provisioning/weak-passphrase',
    });
  });

  it('goes with the token of the configuration where that is its own', async () => {
    const given = await gateway('shed', [slot('meter', { accessToken: {} } as unknown as Partial<DeviceConfig>)]);
    await given.own('meter', 'of-before');
    const store = await given.store('meter');
    const { board } = given.deps;
    const record = {
      phase: 'in-use',
      source: 'configuration',
      accessToken: 'configured-token',
      configuredToken: 'f',
      board,
      generation: 1,
    } as const;
    await store.save('configured', record);
    await cellar.take(await packDevice(given.deps, 'meter', PASSPHRASE), 'heat');
    const kept = (await cellar.store('heat')).record('own');
    expect(kept).toMatchObject({ accessToken: 'configured-token', source: 'imported', generation: 2 });
    expect(kept?.configuredToken).toBeUndefined();
  });
});

describe('a device that comes', () => {
  it('is the slot’s own, of this board, with its name and a higher generation', async () => {
    const taken = await cellar.take(await packDevice(roof.deps, 'meter', PASSPHRASE), 'heat');
    expect(taken).toEqual({ id: 'heat', name: 'roof meter', isConfigured: true });
    const record = (await cellar.store('heat')).record('own');
    expect(record).toMatchObject({
      accessToken: 'the-token',
      deviceName: 'roof meter',
      generation: 3,
      board: { serial: 'cellar' },
    });
    expect([cellar.names.idOf('heat'), cellar.names.nameOf('heat')]).toEqual(['heat', 'roof meter']);
    expect(cellar.done).toEqual(['change heat']);
  });

  it('comes into a slot that is configured later', async () => {
    const taken = await cellar.take(await packDevice(roof.deps, 'meter', PASSPHRASE), 'later');
    expect(taken).toMatchObject({ id: 'later', isConfigured: false });
    expect((await cellar.store('later')).record('own')?.accessToken).toBe('the-token');
  });

  it('gives up what is in the slot only when it is told so', async () => {
    await cellar.own('heat', 'fresh-token');
    const text = await packDevice(roof.deps, 'meter', PASSPHRASE);
    await expect(cellar.take(text, 'heat')).rejects.toMatchObject({
      code: 'provisioning/has-credentials',
      message: 'heat is a device already, "cellar heat"; --replace gives that up',
    });
    expect((await cellar.store('heat')).record('own')?.accessToken).toBe('fresh-token');
    await cellar.take(text, 'heat', { replace: true });
    expect((await cellar.store('heat')).record('own')?.accessToken).toBe('the-token');
  });

  it('comes back to the gateway that it went from without more', async () => {
    const text = await packDevice(roof.deps, 'meter', PASSPHRASE);
    await leaveDevice(roof.deps, 'meter');
    await roof.take(text, 'meter');
    expect([roof.names.idOf('meter'), (await roof.store('meter')).record('own')?.generation]).toEqual(['meter', 3]);
  });

  it('is known by its serial number, wherever it is read', async () => {
    const read = (name: string) =>
      slot(name, { deviceName: '{gateway} {serialNumber}', serialNumber: { sensor: name, key: 'serial' } });
    const one = await gateway('one', [read('a')]);
    const other = await gateway('other', [read('b')]);
    for (const _time of [1, 2]) one.names.observe('a', 'serial', '4711');
    await one.own('one 4711', 'the-token');
    const taken = await other.take(await packDevice(one.deps, 'one 4711', PASSPHRASE), 'b');
    expect([taken.id, other.names.idOf('b')]).toEqual(['one one 4711', '?b']);
    for (const _time of [1, 2]) other.names.observe('b', 'serial', '4711');
    expect(other.names.idOf('b')).toBe('one one 4711');
  });

  it('is refused where the slot has a token of the configuration, and with a wrong passphrase', async () => {
    const text = await packDevice(roof.deps, 'meter', PASSPHRASE);
    const given = await gateway('shed', [slot('meter', { accessToken: {} } as unknown as Partial<DeviceConfig>)]);
    await expect(given.take(text, 'meter')).rejects.toMatchObject({ code: 'provisioning/token-configured' });
    await expect(cellar.take(text, 'heat', { passphrase: 'another passphrase' })).rejects.toMatchObject({
      code: 'provisioning/wrong-passphrase',
    });
  });

  it('is no gateway, and a gateway is no attached device', async () => {
    const store = await roof.store('meter');
    const ofGateway = await packIdentity({ store, place: 'own', randomBytes: systemRandomBytes }, PASSPHRASE, 0);
    await expect(cellar.take(ofGateway, 'heat')).rejects.toThrow(
      'this archive holds a gateway’s identity: use turnstone identity import FILE',
    );
    const whole = await sealArchive('gateway', {}, PASSPHRASE, systemRandomBytes);
    await expect(cellar.take(whole, 'heat')).rejects.toMatchObject({
      code: 'provisioning/wrong-archive',
      message: 'this archive holds a whole gateway: use turnstone restore FILE',
    });
    const file = { text: await packDevice(roof.deps, 'meter', PASSPHRASE), passphrase: PASSPHRASE, replace: true };
    await expect(unpackIdentity({ store: await cellar.store('self'), board: cellar.deps.board }, file)).rejects.toThrow(
      'this archive holds an attached device: use turnstone devices move --from FILE --slot SLOT',
    );
  });
});
