/** Dependencies of the sensors. */
import type { Ports } from '../../hardware/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { HostMetricsOptions, HostMetricsSource } from '../../host/host-metrics.ts';
import type { JsonValue } from '../../host/json.ts';
import type { Log } from '../../host/log.ts';
import type { RunProgram } from '../../host/run-program.ts';
import type { Sample } from './sensor.ts';

export type ClientRpc = (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

/** A sensor's last value, under the platform's key. */
export type MeasuredValue = Pick<Sample, 'value' | 'monotonicMs' | 'takenAtMs' | 'isPart'>;

export interface ValuesOfSensors {
  /** @throws AgentError `sensors/no-input` (retry) while the key has no value, or its sensor does not give it. */
  current(key: string): MeasuredValue;
  /** Calls back with the keys of each read that gives one of these, until the returned function is called. */
  onValues(wanted: readonly string[], listener: (keys: ReadonlySet<string>) => void): () => void;
}

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
  /** Values of the other sensors; none outside the running agent. */
  readonly values?: ValuesOfSensors;
  readonly files: Files;
  readonly runProgram: RunProgram;
  /** Opens the metrics of the machine. */
  readonly openHostMetrics: (options: HostMetricsOptions) => HostMetricsSource;
}
