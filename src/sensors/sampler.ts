/**
 * Keeps every sensor's schedule. Each runs by itself: one that is slow, hangs or fails neither delays nor stops another. Reads lie on a
 * grid of their period, so that they do not drift; a read that is still under way when the next is due is not doubled, but counted
 * as missed. A failure is reported once, retried with backoff, and its end is reported too.
 */
import type { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { SampledSensor } from './sampled-sensor.ts';
import type { Sample, Sensor } from './sensor.ts';
import { sensorFault } from './sensor-fault.ts';
import type { SensorState } from './sensor-state.ts';
import type { WindowSettings } from './window.ts';

export interface SamplerEntry {
  /** Unique. */
  readonly name: string;
  readonly kind: string;
  readonly periodMs: number;
  /** How long one read, or one attempt to open, may take. */
  readonly deadlineMs: number;
  /** On whole multiples of the period since midnight UTC, instead of since the first read. */
  readonly align: boolean;
  readonly window?: WindowSettings;
  /** When it differs the sensor is closed and opened again; otherwise only its schedule changes. */
  readonly revision: string;
  /** @throws AgentError, after which it is tried again. */
  readonly open: (signal: AbortSignal) => Promise<Sensor>;
}

export interface SamplerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** What was read, in one call per read; it must not wait. */
  readonly onSamples: (samples: readonly Sample[]) => void;
  /** A sensor began to fail (with the reason), or works again. */
  readonly onStateChange?: (state: SensorState, error?: AgentError) => void;
}

/** How long closing waits for reads under way; they have deadlines of their own, this is for drivers that ignore them. */
const CLOSE_DEADLINE_MS = 2_000;

export class Sampler {
  readonly #deps: SamplerDeps;
  readonly #sensors = new Map<string, SampledSensor>();
  #started = false;
  #closed = false;

  constructor(deps: SamplerDeps, entries: readonly SamplerEntry[]) {
    this.#deps = deps;
    for (const entry of entries) this.#sensors.set(entry.name, new SampledSensor(entry, deps));
  }

  /** Begins to sample; when the signal aborts it closes. */
  start(signal: AbortSignal): void {
    this.#started = true;
    for (const sensor of this.#sensors.values()) sensor.start();
    signal.addEventListener('abort', () => void this.close(), { once: true });
    if (signal.aborted) void this.close();
  }

  /** Changes to these sensors: what is new is opened, what is gone is closed, what only has another period, deadline or window goes on with it at once. */
  async configure(entries: readonly SamplerEntry[]): Promise<void> {
    const wanted = new Map(entries.map((entry) => [entry.name, entry]));
    const obsolete = [...this.#sensors].filter(([name, sensor]) => wanted.get(name)?.revision !== sensor.entry.revision);
    for (const [name] of obsolete) this.#sensors.delete(name);
    await Promise.all(obsolete.map(([, sensor]) => sensor.close(CLOSE_DEADLINE_MS)));
    for (const entry of entries) {
      const kept = this.#sensors.get(entry.name);
      if (kept !== undefined) kept.reschedule(entry);
      else this.#add(entry);
    }
  }

  /** Reads once, outside the schedule; what is read goes to the caller alone. @throws AgentError `sensors/unknown`, or the sensor's own. */
  async readNow(name: string, signal: AbortSignal): Promise<readonly Sample[]> {
    return await this.#find(name).readNow(signal);
  }

  /** Every sensor's state and last readings, in the order of the configuration. */
  states(): readonly SensorState[] {
    return [...this.#sensors.values()].map((sensor) => sensor.state());
  }

  /** Ends every read and closes every sensor. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#sensors.values()].map((sensor) => sensor.close(CLOSE_DEADLINE_MS)));
  }

  #add(entry: SamplerEntry): void {
    const sensor = new SampledSensor(entry, this.#deps);
    this.#sensors.set(entry.name, sensor);
    if (this.#started && !this.#closed) sensor.start();
  }

  #find(name: string): SampledSensor {
    const sensor = this.#sensors.get(name);
    if (sensor === undefined)
      throw sensorFault('unknown', `there is no sensor ${name}; there are ${[...this.#sensors.keys()].join(', ') || 'none'}`);
    return sensor;
  }
}
