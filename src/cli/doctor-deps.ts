/** What the doctor looks at when it is called from the command line: this machine, and the agent when one runs. */
import { join } from 'node:path';
import type { AgentConfig } from '../config/agent-config.ts';
import { peekFolders } from '../config/peek-folders.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Clock } from '../host/clock.ts';
import { readWhole } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { systemFiles } from '../host/files.ts';
import { MachineFacts } from '../host/machine-facts.ts';
import { askSystemTime, TimeSync } from '../host/time-sync.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { apiSettings } from '../platform/platform-settings.ts';
import { fingerprintOf } from '../provisioning/access-token.ts';
import { CREDENTIALS_FILES } from '../provisioning/credentials-files.ts';
import { type CredentialsState, parseCredentials, recordsOf } from '../provisioning/credentials-record.ts';
import { tokenWorks } from '../provisioning/token-check.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import type { DoctorDeps } from '../status/doctor/checkup.ts';
import { askAgent } from './agent-calls.ts';

export async function doctorDeps(from: {
  readonly configFile: string;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly version: string;
}): Promise<DoctorDeps> {
  const { runFolder } = await peekFolders(from.configFile, from.environment);
  // None runs, or it does not answer this user.
  const agent = await askAgent<AgentStatus>(runFolder, 'getStatus').catch(() => undefined);
  return {
    ...from,
    machine: new MachineFacts({ clock: from.clock }),
    isTimeSynchronised: () => lookOnce(from.clock),
    ...(agent === undefined ? {} : { agent }),
    tokenWorks: (config, signal) => askPlatform(config, from.clock, signal),
    openPorts: ({ hardware }) => openPorts({ clock: from.clock, hardware }),
  };
}

async function lookOnce(clock: Clock): Promise<boolean> {
  const timeSync = new TimeSync({ clock, policy: 'system', ask: askSystemTime });
  await timeSync.start();
  timeSync.close();
  return timeSync.isSynchronised();
}

async function askPlatform(config: AgentConfig, clock: Clock, signal: AbortSignal): Promise<boolean | undefined> {
  const token = await tokenInUse(config.stateFolder, config.platform.accessToken?.reveal());
  if (token === undefined) return undefined;
  const settings = await apiSettings(config.platform, systemFiles);
  return tokenWorks((accessToken) => new HttpDeviceApi({ ...settings, token: () => accessToken, clock }), token, signal);
}

/** What the agent uses: the configured token or what it was rotated to since, else the board's own. @throws as `keptCredentials`. */
export async function tokenInUse(stateFolder: string, configured: string | undefined): Promise<string | undefined> {
  if (configured === undefined) {
    const { own } = await keptCredentials(stateFolder);
    return own?.phase === 'in-use' ? own.accessToken : undefined;
  }
  // A technician may not be allowed to read what the agent keeps.
  const kept: CredentialsState = await keptCredentials(stateFolder).catch(() => ({}));
  const configuredToken = fingerprintOf(configured);
  return recordsOf(kept).find((record) => record.configuredToken === configuredToken)?.accessToken ?? configured;
}

/** Reads only: healing and setting aside is the agent's. @throws AgentError when files are there and none of them can be understood. */
async function keptCredentials(stateFolder: string): Promise<CredentialsState> {
  let fault: unknown;
  for (const file of CREDENTIALS_FILES) {
    try {
      const text = await readWhole(systemFiles, join(stateFolder, file));
      if (text !== undefined) return parseCredentials(text.toString('utf8'));
    } catch (error) {
      fault ??= error;
    }
  }
  if (fault !== undefined) throw fault;
  return {};
}
