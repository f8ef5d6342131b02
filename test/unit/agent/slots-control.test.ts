/** A device that comes from another gateway before the configuration here has any. */
import { describe, expect, it } from 'vitest';
import { SlotsControl } from '../../../src/agent/slots-control.ts';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { DeviceNames } from '../../../src/devices/device-names.ts';
import { DEVICE_NAMES_FORMAT, type KnownDevice } from '../../../src/devices/kept-names.ts';
import { packIdentity } from '../../../src/devices/move-identity.ts';
import { type AgentLog, silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const PASSPHRASE = 'correct horse battery';
const log = { ...silentLog, hide: () => {} } as unknown as AgentLog;
const alerts = { raise: () => {}, clear: () => {} };
const clock = new FakeClock();

async function packed(attached: KnownDevice): Promise<string> {
  const files = new MemoryFiles();
  await files.makeFolder('/old');
  const store = await CredentialsStore.open({ stateFolder: '/old', files, clock, log, alerts, hide: () => {} });
  await store.save('own', {
    phase: 'in-use',
    source: 'provisioned',
    deviceName: attached.name,
    accessToken: 'the-token',
    board: { serial: 'old', hostname: 'old' },
    generation: 1,
  });
  return packIdentity({ store, place: 'own', attached, randomBytes: systemRandomBytes }, PASSPHRASE, clock.wallMs());
}

describe('a gateway without devices', () => {
  it.each([
    [{ name: 'old m7' }, undefined, 'm7'],
    [{ name: 'old 4711', serialNumber: '4711' }, { sensor: 'meter', key: 'serial' }, 'old 4711'],
  ])('takes %j, which is in its slot once that is configured', async (attached, serialNumber, id) => {
    const files = new MemoryFiles();
    const config = configSchema.parse({
      version: 1,
      platform: { url: 'http://p', accessToken: 'secret-token' },
      stateFolder: '/state',
    });
    const control = new SlotsControl({
      slots: undefined,
      config: () => config,
      machine: { clock, files, randomBytes: systemRandomBytes },
      log,
      board: { serial: 'new', hostname: 'new' },
    });
    const text = await packed(attached);
    const taken = await control.take({ slot: 'm7', text, passphrase: PASSPHRASE, replace: false });
    expect(taken).toEqual({ id, name: attached.name, isConfigured: false });
    const names = await DeviceNames.open({
      file: new StateFile({ ...DEVICE_NAMES_FORMAT, path: '/state/device-names.json', files, clock, log }),
      clock,
      log,
      gatewayName: () => 'new',
      matches: () => true,
    });
    names.configure([{ name: 'm7', deviceName: '{gateway} {name}', serialNumber } as never]);
    for (let times = 0; times < 2; times += 1) names.observe('meter', 'serial', '4711');
    expect([names.idOf('m7'), names.nameOf(id)]).toEqual([id, attached.name]);
  });
});
