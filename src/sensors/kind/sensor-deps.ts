/** Dependencies of the sensors. */
import type { Ports } from '../../hardware/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { HostMetricsOptions, HostMetricsSource } from '../../host/host-metrics.ts';
import type { JsonValue } from '../../host/json.ts';
import type { Log } from '../../host/log.ts';
import type { RunProgram } from '../../host/run-program.ts';

export type ClientRpc = (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

export interface SensorDeps {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the platform's rule chain (endpoint 7). @throws AgentError `platform/…` as the client does, `sensors/no-platform` (retry) without one. */
  readonly clientRpc?: ClientRpc;
  /** Where totals that must survive a restart are kept. */
  readonly stateFolder: string;
  /** Under which name the platform keeps a key; told of each reading whose key gets another. */
  readonly keyOf?: (key: string) => string;
  readonly files: Files;
  readonly runProgram: RunProgram;
  /** Opens the metrics of the machine. */
  readonly openHostMetrics: (options: HostMetricsOptions) => HostMetricsSource;
}
