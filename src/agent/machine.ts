/**
 * What the agent stands on, each thing through one door: time, disk, pins, the platform, and what the operating system knows. The rooms have
 * no other way out, so that a world made for a test can be all of it.
 */

import { loadConfigToRun } from '../config/read-config.ts';
import { ControlServer, type ControlServerDeps } from '../control-socket/control-server.ts';
import { type OpenPortsDeps, openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import { boardModel, networkAddresses } from '../host/board-model.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import { type Files, systemFiles } from '../host/files.ts';
import { HostMetrics, type HostMetricsOptions, type HostMetricsSource } from '../host/host-metrics.ts';
import { type BoardIdentity, type IdentitySources, readIdentity } from '../host/identity.ts';
import type { LogSink } from '../host/log.ts';
import { type ProcessUsage, processUsage } from '../host/process-usage.ts';
import { type RandomBytes, systemRandomBytes } from '../host/random.ts';
import { type RunProgram, runProgram } from '../host/run-program.ts';
import { StateLock } from '../host/state-lock.ts';
import { askSystemTime } from '../host/time-sync.ts';
import { type Connect, connectOverNetwork } from '../platform/connections.ts';
import { openExternalFile } from '../platform/external-file.ts';
import type { StatusServerDeps } from '../status/status-server.ts';
import { diagnoseSelf } from './self-diagnosis.ts';

/** Something that was opened and is to be closed once. */
export interface Held {
  close(): Promise<void>;
}

/** The page's server, as the agent needs it. */
export interface StatusDoor extends Held {
  /** Undefined while the port is taken. */
  readonly url: string | undefined;
  readonly openPages: number;
}

export interface Machine {
  readonly clock: Clock;
  readonly files: Files;
  readonly randomBytes: RandomBytes;
  /** The configuration, frozen, and what it names that is not there now. @throws ConfigError (stop). */
  readonly loadConfig: typeof loadConfigToRun;
  readonly connect: Connect;
  /** Files at addresses that are not the platform's. */
  readonly openExternalFile: typeof openExternalFile;
  readonly openPorts: (deps: OpenPortsDeps) => Ports;
  readonly runProgram: RunProgram;
  readonly readIdentity: (sources: IdentitySources) => Promise<BoardIdentity>;
  readonly boardModel: typeof boardModel;
  readonly networkAddresses: typeof networkAddresses;
  /** What the operating system shows of the machine's load. */
  readonly openHostMetrics: (options: HostMetricsOptions) => HostMetricsSource;
  /** What this process takes of it. */
  readonly usage: () => ProcessUsage;
  /** Whether the operating system calls its clock synchronised. */
  readonly askSystemTime: () => Promise<boolean>;
  /** One agent at a time in a state folder. @throws AgentError (stop). */
  readonly takeLock: (folder: string) => Promise<Held>;
  /** Listens for local callers. @throws AgentError (stop). */
  readonly listen: (deps: ControlServerDeps, signal: AbortSignal) => Promise<Held>;
  /** Answers browsers and monitors; loaded when it is asked for. */
  readonly openStatusServer: (deps: StatusServerDeps) => Promise<StatusDoor>;
  /** Asks the doctor about this very agent. */
  readonly diagnose: typeof diagnoseSelf;
  /** Default stdout. */
  readonly logSink?: LogSink;
}

/** The one that this process runs on. */
export const thisMachine: Machine = {
  clock: systemClock,
  files: systemFiles,
  randomBytes: systemRandomBytes,
  loadConfig: loadConfigToRun,
  connect: connectOverNetwork,
  openExternalFile,
  openPorts,
  runProgram,
  readIdentity,
  boardModel,
  networkAddresses,
  openHostMetrics: (options) => new HostMetrics(options),
  usage: processUsage,
  askSystemTime,
  takeLock: (folder) => StateLock.take(folder),
  listen: (deps, signal) => ControlServer.open(deps, signal),
  openStatusServer: async (deps) => (await import('../status/status-server.ts')).StatusServer.open(deps),
  diagnose: diagnoseSelf,
};
