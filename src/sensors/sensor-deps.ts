/** What the sensors stand on. */
import type { SensorConfig, SensorConfigOf, SensorKind } from '../config/agent-config.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { Sensor } from './sensor.ts';

export type ClientRpc = (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

export interface SensorDeps {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the platform's rule chain (endpoint 7). @throws AgentError `platform/…` as the client does, `sensors/no-platform` (retry) without one. */
  readonly clientRpc?: ClientRpc;
  /** Where totals that must survive a restart are kept. */
  readonly stateFolder: string;
}

/** Opens one kind of sensor; what it opened before it fails it closes again. @throws AgentError (retry), after which it is tried again. */
export type SensorFactory<K extends SensorKind> = (config: SensorConfigOf<K>, deps: SensorDeps, signal: AbortSignal) => Promise<Sensor>;

export type AnySensorFactory = (config: SensorConfig, deps: SensorDeps, signal: AbortSignal) => Promise<Sensor>;
