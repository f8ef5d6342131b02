/** Last value of each key of all sensors, under the name that the platform knows, after conversion; what derived values are made of. */
import { rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import { getOrInsert } from '../host/get-or-insert.ts';
import type { Sample } from './kind/sensor.ts';
import type { MeasuredValue, ValuesOfSensors } from './kind/sensor-deps.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import type { SensorState } from './sampler.ts';

/** Whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 10_000;

export class MeasuredValues implements ValuesOfSensors {
  readonly #sensors: () => readonly SensorConfig[];
  readonly #values = new Map<string, Sample>();
  readonly #states = new Map<string, Pick<SensorState, 'state' | 'refused' | 'error'>>();
  /** The platform's names, by the configuration of the sensor: thousands of values a second ask for them. */
  readonly #names = new WeakMap<SensorConfig, Map<string, string>>();
  #configured: readonly SensorConfig[] = [];
  #byName: ReadonlyMap<string, SensorConfig> = new Map();
  /** By the key that they want. */
  readonly #listeners = new Map<string, Set<(keys: ReadonlySet<string>) => void>>();

  /** @param sensors as they are configured now. */
  constructor(sensors: () => readonly SensorConfig[]) {
    this.#sensors = sensors;
  }

  current(key: string): MeasuredValue {
    const kept = this.#values.get(key);
    if (kept === undefined) throw sensorFault('no-input', `${key} has not come yet`);
    const { state, refused = [], error } = this.#states.get(kept.sensor) ?? {};
    if (state === 'failing') throw sensorFault('no-input', `${key} is missing, as ${kept.sensor} fails: ${error?.message}`);
    const refusal = refused.find((one) => one.key === kept.key);
    if (refusal !== undefined) throw sensorFault('no-input', `${key} is missing: ${refusal.message}`);
    return kept;
  }

  onValues(wanted: readonly string[], listener: (keys: ReadonlySet<string>) => void): () => void {
    for (const key of wanted) getOrInsert(this.#listeners, key, () => new Set<typeof listener>()).add(listener);
    return () => {
      for (const key of wanted) this.#listeners.get(key)?.delete(listener);
    };
  }

  /** @param samples of one sensor. */
  recordSamples(samples: readonly Sample[]): void {
    const keys = new Set<string>();
    const wanted = new Set<(keys: ReadonlySet<string>) => void>();
    const config = this.#configOf(samples[0]?.sensor);
    for (const sample of samples) {
      const name = config === undefined ? sample.key : this.#nameOf(config, sample.key);
      if (this.#values.size >= MAX_KEYS && !this.#values.has(name)) continue;
      this.#values.set(name, sample);
      keys.add(name);
      for (const listener of this.#listeners.get(name) ?? []) wanted.add(listener);
    }
    for (const listener of wanted) listener(keys);
  }

  recordState({ name, state, refused, error }: SensorState): void {
    this.#states.set(name, { state, refused, ...(error !== undefined && { error }) });
  }

  /** Forgets the values of sensors that changed or are gone. */
  forget(sensor: string): void {
    this.#states.delete(sensor);
    for (const [key, kept] of this.#values) if (kept.sensor === sensor) this.#values.delete(key);
  }

  #configOf(sensor: string | undefined): SensorConfig | undefined {
    const sensors = this.#sensors();
    if (sensors !== this.#configured) {
      this.#configured = sensors;
      this.#byName = new Map(sensors.map((one) => [one.name, one]));
    }
    return sensor === undefined ? undefined : this.#byName.get(sensor);
  }

  #nameOf(config: SensorConfig, key: string): string {
    const names = getOrInsert(this.#names, config, () => new Map<string, string>());
    return getOrInsert(names, key, () => rulesOfReading(config, key)?.rename ?? key);
  }
}
