/** Dependencies of the sensors. */
import type { BrokerOf } from '../../hardware/mqtt-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { HostMetricsOptions, HostMetricsSource } from '../../host/host-metrics.ts';
import type { Log } from '../../host/log.ts';
import type { RunProgram } from '../../host/run-program.ts';
import type { JsonValue } from '../../values/json.ts';
import type { Reading, Sample } from './sensor.ts';

export type ClientRpc = (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

/** A sensor's last value, under the platform's key. */
export type MeasuredValue = Pick<Sample, 'value' | 'monotonicMs' | 'takenAtMs' | 'isPart' | 'isOld'>;

/** A value that is made of others. */
export interface MadeValue {
  /** The driver's own. */
  readonly key: string;
  /** The platform's keys that it needs, of whichever device is meant. */
  readonly inputs: readonly string[];
  /** Undefined when there is none. */
  calculate(): Reading | undefined;
  /** Forgets what it remembers of these keys. */
  forget(keys: ReadonlySet<string>): void;
}

export interface MadeSensor {
  readonly name: string;
  readonly values: readonly MadeValue[];
  tell(readings: readonly Reading[]): void;
}

export interface ValuesOfSensors {
  /**
   * Value of a key as a sensor's expressions mean it: of its own device, else of the gateway, else of the only device that has it.
   * @throws AgentError (retry) while the key has no value, or several devices have it, or its sensor does not give it: `sensors/no-input`, or `sensors/awaited-input` as long as
   * the sensor that gives it only starts.
   */
  current(key: string, askedBy: string): MeasuredValue;
  /** Has its values calculated, each after those that it is made of, now and when their keys come, until the returned function is called. */
  make(sensor: MadeSensor): () => void;
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
  /** Broker of a name. */
  readonly brokerOf?: BrokerOf;
  readonly files: Files;
  readonly runProgram: RunProgram;
  /** Opens the metrics of the machine. */
  readonly openHostMetrics: (options: HostMetricsOptions) => HostMetricsSource;
}
