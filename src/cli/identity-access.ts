/** The way of a command to this device's identity: through the running agent, or to the kept credentials themselves when none runs. */

import type { Command } from 'commander';
import { apiSettings } from '../agent/platform-settings.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { loadConfig } from '../config/read-config.ts';
import { AgentError } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { makeFolder, readUserFile } from '../host/durable-file.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { readIdentity } from '../host/identity.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { silentLog } from '../host/log.ts';
import { systemRandomBytes } from '../host/random.ts';
import { StateLock } from '../host/state-lock.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { CredentialsStore } from '../provisioning/credentials-store.ts';
import { DeviceToken } from '../provisioning/device-token.ts';
import { identityDesk } from '../provisioning/identity-desk.ts';
import { configuredRecord } from '../provisioning/obtain-credentials.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';

export interface IdentityAccess {
  /** One of the requests of identity-desk.ts. */
  request(name: string, params?: JsonObject): Promise<JsonValue>;
  /** Whether a running agent answers: it takes changes up by itself. */
  readonly isRunning: boolean;
  close(): Promise<void>;
}

/** A claim or a key derivation on a small board. */
const DEADLINE_MS = 60_000;
const LONGEST_SECRET = 4_096;

export function addIdentityOptions(command: Command): Command {
  return addAgentOptions(command);
}

/** @throws CommandError, AgentError when neither an agent nor its files can be reached. */
export async function openIdentity(flags: AgentFlags, edge: Edge): Promise<IdentityAccess> {
  try {
    const agent = await connectAgent(flags, edge);
    return {
      isRunning: true,
      request: (name, params = {}) => agent.request(name, params, { deadlineMs: DEADLINE_MS, signal: edge.signal }),
      close: () => agent.close(),
    };
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.notRunning) throw error;
    return openFiles(await loadConfig(flags.config ?? DEFAULT_CONFIG_FILE, { environment: edge.environment }), edge);
  }
}

/** No agent runs, and none can start while this is open. */
async function openFiles(config: AgentConfig, edge: Edge): Promise<IdentityAccess> {
  const { stateFolder, runFolder, platform } = config;
  const settings = await apiSettings(platform, systemFiles);
  await makeFolder(stateFolder);
  await actAsOwnerOf(stateFolder);
  const lock = await StateLock.take(stateFolder);
  const alerts = { raise: (_name: string, message: string) => edge.stderr.write(`turnstone: ${message}\n`), clear: () => {} };
  const hide = (): void => {};
  const store = await CredentialsStore.open({ stateFolder, files: systemFiles, clock: systemClock, log: silentLog, alerts, hide });
  const place = platform.accessToken === undefined ? 'own' : 'configured';
  const board = await readIdentity({ runFolder });
  if (platform.accessToken !== undefined) await configuredRecord({ store, board, hide }, platform.accessToken.reveal());
  const token = (): string | undefined => {
    const record = store.record(place);
    return record?.phase === 'in-use' ? record.accessToken : undefined;
  };
  const deviceApi = new HttpDeviceApi({ ...settings, clock: systemClock, token: () => token() ?? '' });
  const desk = identityDesk({
    store,
    place,
    board,
    stateFolder,
    clock: systemClock,
    files: systemFiles,
    randomBytes: systemRandomBytes,
    hide,
    deviceApi: () => (token() === undefined ? undefined : deviceApi),
    offerNext: async (next) => {
      const record = store.record(place);
      if (record?.phase !== 'in-use')
        throw new AgentError('provisioning/no-credentials', 'this device has no token to rotate', { recovery: 'drop' });
      const works = async (): Promise<boolean> => false;
      await new DeviceToken({ store, place, tokenWorks: works, clock: systemClock, log: silentLog, alerts, hide }, record).offerNext(next);
    },
    takeUp: () => {},
  });
  return {
    isRunning: false,
    request: async (name, params = {}) => {
      const request = desk[name];
      if (request === undefined) throw new CommandError(`nobody knows ${name}`);
      return request(params, AbortSignal.any([edge.signal, AbortSignal.timeout(DEADLINE_MS)]));
    },
    close: async () => {
      await deviceApi.close();
      await lock.close();
    },
  };
}

/** A secret from a file, or asked for without echo; never from the command line, which every user of the machine can read. */
export async function secretFrom(file: string | undefined, question: string, edge: Edge): Promise<string> {
  const given = file === undefined ? await edge.ask(question, { hidden: true }) : await secretInFile(file);
  const secret = given.trim();
  if (secret !== '') return secret;
  throw new CommandError(file === undefined ? 'nothing was entered' : `${file} is empty`, { exitCode: EXIT.usage });
}

async function secretInFile(file: string): Promise<string> {
  const bytes = await readUserFile(file, LONGEST_SECRET);
  if (bytes === undefined) throw new CommandError(`there is no file ${file}`, { exitCode: EXIT.usage });
  return bytes.toString('utf8');
}
