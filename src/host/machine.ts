/** Operating system behind one port for each of its things, so that a world made for a test can be all of it. */
import { boardModel, networkAddresses } from './board-model.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Files, systemFiles } from './files.ts';
import { HostMetrics, type HostMetricsOptions, type HostMetricsSource } from './host-metrics.ts';
import { type BoardIdentity, type IdentitySources, readIdentity } from './identity.ts';
import type { LogSink } from './log.ts';
import { type RandomBytes, systemRandomBytes } from './random.ts';
import { type RunProgram, runProgram } from './run-program.ts';
import { type Held, takeLock } from './state-lock.ts';
import { openWrittenBytes, type ReadWrittenBytes } from './storage-writes.ts';
import { askSystemTime } from './time-sync.ts';

/** Resources that this process uses. */
export interface ProcessUsage {
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  /** User and system time. */
  readonly cpuSeconds: number;
}

export interface HostMachine {
  readonly clock: Clock;
  readonly files: Files;
  readonly randomBytes: RandomBytes;
  readonly runProgram: RunProgram;
  readonly readIdentity: (sources: IdentitySources) => Promise<BoardIdentity>;
  readonly boardModel: typeof boardModel;
  readonly networkAddresses: typeof networkAddresses;
  /** Opens the metrics of the machine's load. */
  readonly openHostMetrics: (options: HostMetricsOptions) => HostMetricsSource;
  readonly usage: () => ProcessUsage;
  /** Finds the disk of a folder, and returns what reads how much is written. Never rejects. */
  readonly openWrittenBytes: (folder: string) => Promise<ReadWrittenBytes>;
  /** Tells if the operating system calls its clock synchronised. */
  readonly askSystemTime: () => Promise<boolean>;
  /** One agent at a time in a state folder. @throws AgentError (stop). */
  readonly takeLock: (folder: string) => Promise<Held>;
  /** Default stdout. */
  readonly logSink?: LogSink;
}

/** The one that this process runs on. */
export const thisHost: HostMachine = {
  clock: systemClock,
  files: systemFiles,
  randomBytes: systemRandomBytes,
  runProgram,
  readIdentity,
  boardModel,
  networkAddresses,
  openHostMetrics: (options) => new HostMetrics(options),
  usage: processUsage,
  openWrittenBytes,
  askSystemTime,
  takeLock,
};

function processUsage(): ProcessUsage {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { residentBytes: rss, heapUsedBytes: heapUsed, cpuSeconds: (user + system) / 1e6 };
}
