/** Calls about this device's identity where no agent runs, served from the kept credentials themselves. */
import { loadConfig } from '../config/read-config.ts';
import { claimDevice } from '../devices/claim-device.ts';
import { CredentialsStore } from '../devices/credentials-store.ts';
import { DeviceToken } from '../devices/device-token.ts';
import { identityControl } from '../devices/identity-requests.ts';
import { configuredRecord } from '../devices/obtain-credentials.ts';
import { AgentError } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { makeFolder, systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { readIdentity } from '../host/identity.ts';
import { silentLog } from '../host/log.ts';
import { systemRandomBytes } from '../host/random.ts';
import { takeLock } from '../host/state-lock.ts';
import { operationsOf } from '../operations/operation-table.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { apiSettings } from '../platform/platform-settings.ts';
import type { AgentFiles } from './agent-calls.ts';
import type { Edge } from './edge.ts';

/** None can start while this is open. @throws CommandError, AgentError when it cannot be opened. */
export async function openIdentityFiles(configFile: string, edge: Edge): Promise<AgentFiles> {
  const { stateFolder, runFolder, platform } = await loadConfig(configFile, { environment: edge.environment });
  const settings = await apiSettings(platform, systemFiles);
  await makeFolder(stateFolder);
  await actAsOwnerOf(stateFolder);
  const lock = await takeLock(stateFolder);
  const alerts = {
    raise: (_name: string, message: string) => edge.stderr.write(`turnstone: ${message}\n`),
    clear: () => {},
  };
  const hide = (): void => {};
  const store = await CredentialsStore.open({
    stateFolder,
    files: systemFiles,
    clock: systemClock,
    log: silentLog,
    alerts,
    hide,
  });
  const place = platform.accessToken === undefined ? 'own' : 'configured';
  const board = await readIdentity({ runFolder });
  if (platform.accessToken !== undefined) await configuredRecord({ store, board, hide }, platform.accessToken.reveal());
  const token = (): string | undefined => {
    const record = store.record(place);
    return record?.phase === 'in-use' ? record.accessToken : undefined;
  };
  const deviceApi = new HttpDeviceApi({ ...settings, clock: systemClock, token: () => token() ?? '' });
  const machine = { clock: systemClock, files: systemFiles, randomBytes: systemRandomBytes };
  const identity = identityControl({
    store,
    place,
    board,
    stateFolder,
    ...machine,
    claim: (request, signal) =>
      claimDevice(
        {
          ...machine,
          stateFolder,
          hide,
          deviceApi: token() === undefined ? undefined : deviceApi,
          deviceName: store.record(place)?.deviceName,
        },
        request,
        signal,
      ),
    takeUp: () => {},
  });
  const offerNext = async (next: string): Promise<void> => {
    const record = store.record(place);
    if (record?.phase !== 'in-use')
      throw new AgentError('provisioning/no-credentials', 'this device has no token to rotate', { recovery: 'drop' });
    const works = async (): Promise<boolean> => false;
    await new DeviceToken(
      { store, place, tokenWorks: works, clock: systemClock, log: silentLog, hide },
      record,
    ).offerNext(next);
  };
  return {
    operations: operationsOf({ identity, credentials: { token: { offerNext }, store } }),
    close: async () => {
      await deviceApi.close();
      await lock.close();
    },
  };
}
