/** What the doctor looks at when it is called from the command line: this machine, and the agent when one runs. */
import { join } from 'node:path';
import { apiSettings } from '../agent/platform-settings.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { peekFolders } from '../config/peek-folders.ts';
import { ControlClient } from '../control-socket/control-client.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Clock } from '../host/clock.ts';
import { readWhole } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { MachineFacts } from '../host/machine-facts.ts';
import { TimeSync } from '../host/time-sync.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { parseCredentials } from '../provisioning/credentials-record.ts';
import { tokenWorks } from '../provisioning/token-check.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import type { DoctorDeps } from '../status/doctor/checkup.ts';

const CREDENTIALS_FILE = 'credentials.json';

export async function doctorDeps(from: {
  readonly configFile: string;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly version: string;
}): Promise<DoctorDeps> {
  const { runFolder } = await peekFolders(from.configFile);
  const agent = await statusOfAgent(runFolder);
  return {
    ...from,
    machine: new MachineFacts({ clock: from.clock }),
    isTimeSynchronised: () => lookOnce(from.clock),
    ...(agent === undefined ? {} : { agent }),
    tokenWorks: (config, signal) => askPlatform(config, from.clock, signal),
    openPorts: ({ hardware }) => openPorts({ clock: from.clock, hardware }),
  };
}

/** Undefined when no agent runs, or it does not answer this user. */
async function statusOfAgent(folder: string): Promise<AgentStatus | undefined> {
  try {
    const client = await ControlClient.connect({ folder, access: 'read' });
    const status = await client.request('getStatus').finally(() => client.close());
    return status as unknown as AgentStatus;
  } catch {
    return undefined;
  }
}

async function lookOnce(clock: Clock): Promise<boolean> {
  const timeSync = new TimeSync({ clock, policy: 'system' });
  await timeSync.start();
  timeSync.close();
  return timeSync.isSynchronised();
}

async function askPlatform(config: AgentConfig, clock: Clock, signal: AbortSignal): Promise<boolean | undefined> {
  const token = config.platform.accessToken?.reveal() ?? (await keptToken(config.stateFolder));
  if (token === undefined) return undefined;
  const settings = await apiSettings(config.platform);
  return tokenWorks((accessToken) => new HttpDeviceApi({ ...settings, token: () => accessToken, clock }), token, signal);
}

/** Reads only: healing and setting aside is the agent's. @throws AgentError when the file is there and cannot be understood. */
async function keptToken(stateFolder: string): Promise<string | undefined> {
  const text = await readWhole(join(stateFolder, CREDENTIALS_FILE));
  return text === undefined ? undefined : parseCredentials(text.toString('utf8')).own?.accessToken;
}
