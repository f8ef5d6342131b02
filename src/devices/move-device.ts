/** Moves an attached device from gateway to gateway: packs its identity under a passphrase, and keeps one that came as a slot's own. */
import { join } from 'node:path';
import { AgentError, refusal } from '../errors/agent-error.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import { openArchive } from './archive.ts';
import { CredentialsStore } from './credentials-store.ts';
import type { DeviceNames } from './device-names.ts';
import type { Devices } from './devices.ts';
import { type PortableIdentity, packIdentity, takeIdentity } from './move-identity.ts';

export interface MoveDeviceDeps {
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'randomBytes'>;
  readonly log: AgentLog;
  readonly board: BoardIdentity;
  readonly names: DeviceNames;
  readonly devices: Pick<Devices, 'change' | 'end' | 'find'>;
  /** Folder with a folder for each device. */
  readonly folder: string;
  readonly placeName: (device: string) => string;
}

/** A file that came, and the slot for what is in it. */
export interface DeviceArrival {
  readonly slot: string;
  readonly text: string;
  readonly passphrase: string;
  /** Gives up the device that is in the slot. */
  readonly replace: boolean;
}

export interface ArrivedDevice {
  readonly id: string;
  readonly name: string;
  /** False of a slot that does not stand in the configuration yet. */
  readonly isConfigured: boolean;
}

/**
 * The device's identity as an archive's text; nothing changes.
 * @throws AgentError `provisioning/no-credentials` (hold), `provisioning/weak-passphrase` (drop).
 */
export async function packDevice(deps: MoveDeviceDeps, id: string, passphrase: string): Promise<string> {
  const { machine, names, devices } = deps;
  const store = await openStore(deps, id);
  const places =
    names.slotOf(id)?.accessToken === undefined ? (['own', 'configured'] as const) : (['configured', 'own'] as const);
  const place = places.find((one) => store.record(one)?.phase === 'in-use');
  const name = devices.find(id)?.name ?? names.nameOf(id);
  if (place === undefined) {
    throw new AgentError('provisioning/no-credentials', `${name} has no credentials yet, so there is nothing to move`, {
      recovery: 'hold',
    });
  }
  const attached = { name, serialNumber: names.serialNumberOf(id) };
  return packIdentity({ store, place, attached, randomBytes: machine.randomBytes }, passphrase, machine.clock.wallMs());
}

/** Has the device in no slot from now on; what waits of it is delivered all the same. @throws AgentError `host/write-failed` (retry). */
export async function leaveDevice({ names, devices, log }: MoveDeviceDeps, id: string): Promise<void> {
  await names.moved.leave(id);
  log.info({ device: id }, 'a device went to another gateway');
  await devices.end(id);
}

/**
 * Makes what is in a slot the device of a file, with a higher generation than it had.
 * @throws AgentError `provisioning/has-credentials` (drop) when the slot has a device of its own and `replace` is not set,
 * `provisioning/token-configured` (drop), `provisioning/not-an-archive` (drop), `provisioning/wrong-archive` (drop), `provisioning/wrong-passphrase` (drop), `host/write-failed` (retry).
 */
export async function takeDevice(
  deps: MoveDeviceDeps,
  { slot, text, passphrase, replace }: DeviceArrival,
  slots: readonly { readonly name: string; readonly accessToken?: unknown }[],
): Promise<ArrivedDevice> {
  const { names, devices, board, log } = deps;
  const settings = slots.find(({ name }) => name === slot);
  if (settings?.accessToken !== undefined)
    throw refusal(
      'provisioning/token-configured',
      `the access token of ${slot} stands in the configuration: take it out there first`,
    );
  // The tag proves that it is what was packed.
  const identity = (await openArchive('device', text, passphrase)) as unknown as Required<PortableIdentity>;
  const { attached, record } = identity;
  const coming = { ...attached, name: record.deviceName ?? attached.name };
  const id = names.moved.idOfComing(slot, coming);
  const store = await openStore(deps, id);
  const own = store.record('own');
  if (own?.phase === 'in-use' && !replace && !names.moved.away.includes(id)) {
    const present = own.deviceName ?? names.nameOf(id);
    throw refusal('provisioning/has-credentials', `${slot} is a device already, "${present}"; --replace gives that up`);
  }
  const { name } = coming;
  await devices.change(id, async () => {
    await takeIdentity(
      { store, board },
      { ...identity, record: { ...record, deviceName: name } },
      { setsQueueAside: false },
    );
    await names.moved.take(slot, coming);
    log.info({ device: id, name, slot }, 'a device came from another gateway');
  });
  return { id, name, isConfigured: settings !== undefined };
}

async function openStore({ machine, log, folder, placeName }: MoveDeviceDeps, id: string): Promise<CredentialsStore> {
  const { files, clock } = machine;
  const stateFolder = join(folder, placeName(id));
  await files.makeFolder(stateFolder);
  // One that is not kept twice is told by whoever uses it.
  const alerts = { raise: () => {}, clear: () => {} };
  return CredentialsStore.open({ stateFolder, files, clock, log, alerts, hide: (secret) => log.hide(secret) });
}
