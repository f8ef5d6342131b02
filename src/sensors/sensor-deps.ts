/** What the sensors stand on. */
import type { SensorConfig, SensorConfigOf, SensorKind } from '../config/agent-config.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Sensor } from './sensor.ts';

export interface SensorDeps {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  /** Where totals that must survive a restart are kept. */
  readonly stateFolder: string;
}

/** Opens one kind of sensor; what it opened before it fails it closes again. @throws AgentError (retry), after which it is tried again. */
export type SensorFactory<K extends SensorKind> = (config: SensorConfigOf<K>, deps: SensorDeps, signal: AbortSignal) => Promise<Sensor>;

export type AnySensorFactory = (config: SensorConfig, deps: SensorDeps, signal: AbortSignal) => Promise<Sensor>;
