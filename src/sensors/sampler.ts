/**
 * Keeps every sensor's schedule. Each runs by itself: one that is slow, hangs or fails neither delays nor stops another. Reads lie on a
 * grid of their period, so that they do not drift; a read that is still under way when the next is due is not doubled, but counted
 * as missed. A failure is reported when it begins and when its reason changes, retried with backoff, and its end is reported too.
 */
import type { AgentError } from '../errors/agent-error.ts';
import type { Sentence } from '../errors/sentence.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Keeping } from '../values/kept.ts';
import type { Conversions } from './conversion/sensor-conversion.ts';
import type { Sample, Sensor } from './kind/sensor.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import { SampledSensor } from './sampled-sensor.ts';
import type { WindowSettings } from './window.ts';

/** A fault with the sentence of its message, where it is one. */
export interface ToldFault {
  readonly code: string;
  readonly message: string;
  readonly sentence?: Sentence | undefined;
}

export interface SensorState {
  readonly name: string;
  readonly kind: string;
  /** `starting` until the first read has ended one way or the other. */
  readonly state: 'starting' | 'working' | 'failing';
  readonly periodMs: number;
  /** The newest reading of each key. */
  readonly readings: readonly Sample[];
  /** ms since boot of the newest reading. */
  readonly lastReadAtMs?: number;
  /** ms since boot of the first failure in a row; absent while it does not fail. */
  readonly failingSinceMs?: number;
  /** Why it fails. */
  readonly error?: ToldFault;
  /** Values that the last read could not give beside its readings, and why. */
  readonly refused: readonly (ToldFault & { readonly key: string })[];
  readonly reads: number;
  readonly failures: number;
  /** Times that passed without a read, because the one before had not ended, or the clock was set past them while they were waited for. */
  readonly missed: number;
}

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
  /** Words of conversion, by key. */
  readonly conversions?: Conversions;
  /** Use of its readings; when it differs they are read at once. */
  readonly use?: unknown;
  /** When it differs the sensor is closed and opened again; otherwise only its schedule changes. */
  readonly revision: string;
  /** @throws AgentError, after which it is tried again. */
  readonly open: (signal: AbortSignal) => Promise<Sensor>;
}

export interface SamplerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the samples of one read; returns a promise where they are kept later. */
  readonly onSamples: Keeping<readonly Sample[]>;
  /** A sensor began to fail or fails for another reason (given), or works again. */
  readonly onStateChange?: (state: SensorState, error?: AgentError) => void;
}

/** How long closing waits for a read under way, and then as long again for the driver; both have deadlines of their own, this is for drivers that ignore them. */
const CLOSE_DEADLINE_MS = 2_000;

export class Sampler {
  readonly #deps: SamplerDeps;
  #sensors: ReadonlyMap<string, SampledSensor>;
  /** Resolves when everything that was removed has given its hardware back, or takes too long to. */
  #givenBack: Promise<unknown> = Promise.resolve();
  #started = false;
  #closed = false;

  constructor(deps: SamplerDeps, entries: readonly SamplerEntry[]) {
    this.#deps = deps;
    this.#sensors = new Map(entries.map((entry) => [entry.name, new SampledSensor(entry, deps)]));
  }

  /** Begins to sample; when the signal aborts it closes. */
  start(signal: AbortSignal): void {
    this.#started = true;
    for (const sensor of this.#sensors.values()) sensor.start();
    signal.addEventListener('abort', () => void this.close(), { once: true });
    if (signal.aborted) void this.close();
  }

  /**
   * Changes to these sensors: what is new is opened, what is gone is closed, what only has another period, deadline or window goes on with it
   * at once. They are in force when this returns, so that the last of several configurations is; resolves when what is new has begun, once
   * the hardware that it may ask for has been given back.
   */
  async configure(entries: readonly SamplerEntry[]): Promise<void> {
    const before = this.#sensors;
    this.#sensors = new Map(entries.map((entry) => [entry.name, this.#adopt(before.get(entry.name), entry)]));
    const obsolete = [...before].filter(([name, sensor]) => this.#sensors.get(name) !== sensor);
    const added = [...this.#sensors].filter(([name, sensor]) => before.get(name) !== sensor);
    this.#givenBack = Promise.all([this.#givenBack, ...obsolete.map(([, sensor]) => sensor.close(CLOSE_DEADLINE_MS))]);
    await this.#givenBack;
    if (this.#started && !this.#closed) for (const [, sensor] of added) sensor.start();
  }

  /** Reads once, outside the schedule; what is read goes to the caller alone. @throws AgentError `sensors/unknown`, or the sensor's own. */
  async readNow(name: string, signal: AbortSignal): Promise<readonly Sample[]> {
    await withinDeadline(this.#givenBack, 'hardware is still being given back', signal);
    return await this.#find(name).readNow(signal);
  }

  /** Every sensor's state and last readings, in the order of the configuration. */
  states(): readonly SensorState[] {
    return [...this.#sensors.values()].map((sensor) => sensor.state());
  }

  /** Ends every read and closes every sensor; bounded in time. Idempotent. */
  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#givenBack = Promise.all([
        this.#givenBack,
        ...[...this.#sensors.values()].map((sensor) => sensor.close(CLOSE_DEADLINE_MS)),
      ]);
    }
    await this.#givenBack;
  }

  #adopt(known: SampledSensor | undefined, entry: SamplerEntry): SampledSensor {
    if (known?.entry.revision !== entry.revision) return new SampledSensor(entry, this.#deps);
    known.reschedule(entry);
    return known;
  }

  #find(name: string): SampledSensor {
    const sensor = this.#sensors.get(name);
    if (sensor === undefined)
      throw sensorFault(
        'unknown',
        `there is no sensor ${name}; there are ${[...this.#sensors.keys()].join(', ') || 'none'}`,
      );
    return sensor;
  }
}
