/**
 * Everything outside the agent: the operating system, the hardware, the platform, and those who connect to it. The rooms reach it only through
 * this, so that a test can replace all of it.
 */
import { readConfigBytes } from '../config/peek-config.ts';
import { loadConfigToRun, readConfig } from '../config/read-config.ts';
import { ControlServer, type ControlServerDeps } from '../control-socket/control-server.ts';
import { diagnoseSelf } from '../doctor/self-diagnosis.ts';
import { type OpenPortsDeps, openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import { type HostMachine, thisHost } from '../host/machine.ts';
import type { Held } from '../host/state-lock.ts';
import type { OpenedStatusServer, StatusServerDeps } from '../page-server/page-server.ts';
import { type Connect, connectOverNetwork } from '../platform/connections.ts';
import { openExternalFile } from '../platform/external-file.ts';

export interface Machine extends HostMachine {
  /** The configuration, frozen, and what it names that is not there now. @throws ConfigError (stop). */
  readonly loadConfig: typeof loadConfigToRun;
  /** Bytes of the configuration in place. @throws AgentError `config/unreadable`. */
  readonly readConfigBytes: typeof readConfigBytes;
  /** Reads a configuration that is to take the place of another, with every fault. */
  readonly readConfig: typeof readConfig;
  readonly connect: Connect;
  /** Files at addresses that are not the platform's. */
  readonly openExternalFile: typeof openExternalFile;
  readonly openPorts: (deps: OpenPortsDeps) => Ports;
  /** Listens for local callers. @throws AgentError (stop). */
  readonly listen: (deps: ControlServerDeps, signal: AbortSignal) => Promise<Held>;
  /** Answers browsers and monitors; loaded when it is asked for. */
  readonly openStatusServer: (deps: StatusServerDeps) => Promise<OpenedStatusServer>;
  /** Asks the doctor about this very agent. */
  readonly diagnose: typeof diagnoseSelf;
}

/** The one that this process runs on. */
export const thisMachine: Machine = {
  ...thisHost,
  loadConfig: loadConfigToRun,
  readConfigBytes,
  readConfig,
  connect: connectOverNetwork(thisHost.clock),
  openExternalFile,
  openPorts,
  listen: (deps, signal) => ControlServer.open(deps, signal),
  openStatusServer: async (deps) => (await import('../page-server/page-server.ts')).StatusServer.open(deps),
  diagnose: diagnoseSelf,
};
