/** Gives up the credentials of all attached devices, so that the next start provisions each anew: for another platform or another tenant. */
import { join } from 'node:path';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { silentLog } from '../host/log.ts';
import { CredentialsStore } from './credentials-store.ts';

export interface ForgetDevicesDeps {
  readonly stateFolder: string;
  readonly files: Files;
  readonly clock: Clock;
}

/** Folder, within the state folder, with a folder of credentials for each attached device. */
export const KNOWN_DEVICES = join('devices', 'known');

/**
 * Resolves to how many devices had credentials. Their names and the entries that wait for them stay; so does a device whose token stands in the
 * configuration. Done again, it goes on where it failed.
 * @throws AgentError `host/read-failed`, `host/write-failed` (retry), `provisioning/newer-format` (stop).
 */
export async function forgetDevices({ stateFolder, files, clock }: ForgetDevicesDeps): Promise<number> {
  const folder = join(stateFolder, KNOWN_DEVICES);
  const isThere = (await files.facts(folder)) !== undefined;
  let forgotten = 0;
  for (const name of isThere ? await files.list(folder) : []) {
    const store = new CredentialsStore({
      stateFolder: join(folder, name),
      files,
      clock,
      log: silentLog,
      alerts: { raise: () => {}, clear: () => {} },
      hide: () => {},
    });
    await store.read();
    if (store.record('own') === undefined) continue;
    await store.forget({ setsQueueAside: false });
    forgotten += 1;
  }
  return forgotten;
}
