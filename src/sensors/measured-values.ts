/** Last value of each key of all sensors, under the name that the platform knows, after conversion; what derived values are made of. */
import { keysForRules, namesForRules, rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import { getOrInsert } from '../host/get-or-insert.ts';
import type { Sample } from './kind/sensor.ts';
import type { MadeSensor, MeasuredValue, ValuesOfSensors } from './kind/sensor-deps.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import { MadeValues } from './made-values.ts';
import type { SensorState } from './sampler.ts';

/** Whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 10_000;

/** Sensors as they are configured. */
interface Configured {
  readonly sensors: readonly SensorConfig[];
  readonly byName: ReadonlyMap<string, SensorConfig>;
  /** Those that are switched on by the keys that they give; undefined stands for keys that only the sensor knows. */
  readonly givers: ReadonlyMap<string | undefined, readonly SensorConfig[]>;
}

export class MeasuredValues implements ValuesOfSensors {
  readonly #sensors: () => readonly SensorConfig[];
  readonly #values = new Map<string, Sample>();
  readonly #states = new Map<string, Pick<SensorState, 'state' | 'refused' | 'error'>>();
  /** The platform's names, by the configuration of the sensor: thousands of values a second ask for them. */
  readonly #names = new WeakMap<SensorConfig, Map<string, string>>();
  readonly #made = new MadeValues((sensor, key) => {
    const config = this.#current().byName.get(sensor);
    return config === undefined ? [key] : namesForRules(config, key);
  });
  #configured = configured([]);

  /** @param sensors as they are configured now. */
  constructor(sensors: () => readonly SensorConfig[]) {
    this.#sensors = sensors;
  }

  current(key: string): MeasuredValue {
    const kept = this.#values.get(key);
    if (kept === undefined) throw sensorFault(this.#isAwaited(key) ? 'awaited-input' : 'no-input', `${key} has not come yet`);
    const { state, refused = [], error } = this.#states.get(kept.sensor) ?? {};
    if (state === 'failing') throw sensorFault('no-input', `${key} is missing, as ${kept.sensor} fails: ${error?.message}`);
    const refusal = refused.find((one) => one.key === kept.key);
    if (refusal !== undefined) throw sensorFault('no-input', `${key} is missing: ${refusal.message}`);
    return kept;
  }

  make(sensor: MadeSensor): () => void {
    return this.#made.add(sensor);
  }

  /** @param samples of one sensor. */
  recordSamples(samples: readonly Sample[]): void {
    const keys = new Set<string>();
    const config = this.#current().byName.get(samples[0]?.sensor ?? '');
    for (const sample of samples) {
      const name = config === undefined ? sample.key : this.#nameOf(config, sample.key);
      if (this.#values.size >= MAX_KEYS && !this.#values.has(name)) continue;
      this.#values.set(name, sample);
      keys.add(name);
    }
    this.#made.came(keys);
  }

  recordState({ name, state, refused, error }: SensorState): void {
    this.#states.set(name, { state, refused, ...(error !== undefined && { error }) });
  }

  /** Forgets the values of a sensor that changed or is gone, and what values made of them remember. */
  forget(sensor: string): void {
    // That of one that goes on is told when it changes.
    if (!this.#current().byName.has(sensor)) this.#states.delete(sensor);
    const keys = [...this.#values].flatMap(([key, kept]) => (kept.sensor === sensor ? [key] : []));
    for (const key of keys) this.#values.delete(key);
    this.#made.forget(keys);
  }

  /** True while a sensor that may give the key has only started, or its first window is not over. */
  #isAwaited(key: string): boolean {
    const { givers } = this.#current();
    return [...(givers.get(key) ?? []), ...(givers.get(undefined) ?? [])].some(({ name, window }) => {
      const { state = 'starting', refused = [] } = this.#states.get(name) ?? {};
      return state === 'starting' || (state === 'working' && window !== undefined && refused.length === 0);
    });
  }

  #current(): Configured {
    const sensors = this.#sensors();
    if (sensors !== this.#configured.sensors) {
      this.#configured = configured(sensors);
      this.#made.reorder();
    }
    return this.#configured;
  }

  #nameOf(config: SensorConfig, key: string): string {
    const names = getOrInsert(this.#names, config, () => new Map<string, string>());
    return getOrInsert(names, key, () => rulesOfReading(config, key)?.rename ?? key);
  }
}

function configured(sensors: readonly SensorConfig[]): Configured {
  const givers = new Map<string | undefined, SensorConfig[]>();
  for (const sensor of sensors.filter(({ enabled }) => enabled))
    for (const key of keysForRules(sensor) ?? [undefined]) getOrInsert(givers, key, () => []).push(sensor);
  return { sensors, byName: new Map(sensors.map((one) => [one.name, one])), givers };
}
