/** Last value of each key of all sensors, by device and the name that the platform knows, after conversion; what derived values are made of. */
import { type KeyOwner, meantOwners, ownedKey, ownersOfKeys } from '../config/keys/key-owners.ts';
import { keysForRules, namesForRules, rulesOfReading } from '../config/keys/sensor-keys.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import type { Sample } from './kind/sensor.ts';
import type { MadeSensor, MeasuredValue, ValuesOfSensors } from './kind/sensor-deps.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import { MadeValues } from './made-values.ts';
import type { SensorState } from './sampler.ts';

/** Whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 20_000;

/** Sensors as they are configured. */
interface Configured {
  readonly sensors: readonly SensorConfig[];
  readonly byName: ReadonlyMap<string, SensorConfig>;
  /** Those that are switched on by device and the keys that they give; undefined stands for keys that only the sensor knows. */
  readonly givers: ReadonlyMap<string | undefined, readonly SensorConfig[]>;
  /** Devices by the keys that their sensors give, switched on or not. */
  readonly owners: ReadonlyMap<string, ReadonlySet<KeyOwner>>;
}

type Kept = Sample & { readonly name: string; readonly owner: KeyOwner };

export class MeasuredValues implements ValuesOfSensors {
  readonly #sensors: () => readonly SensorConfig[];
  /** By device and key. */
  readonly #values = new Map<string, Kept>();
  readonly #states = new Map<string, Pick<SensorState, 'state' | 'refused' | 'error'>>();
  /** The platform's names, by the configuration of the sensor: thousands of values a second ask for them. */
  readonly #names = new WeakMap<SensorConfig, Map<string, Name>>();
  readonly #made = new MadeValues({
    namesOf: (sensor, key) => {
      const config = this.#current().byName.get(sensor);
      return (config === undefined ? [key] : namesForRules(config, key)).map((name) => ownedKey(config?.device, name));
    },
    sourceOf: (sensor, input) => {
      const [owner, ...others] = this.#meant(sensor, input);
      return others.length > 0 ? undefined : ownedKey(owner, input);
    },
  });
  /** Devices by the keys that came from them, of which the configuration knows nothing. */
  readonly #others = new Map<string, Set<KeyOwner>>();
  #configured = configured([]);

  /** @param sensors as they are configured now. */
  constructor(sensors: () => readonly SensorConfig[]) {
    this.#sensors = sensors;
  }

  current(key: string, askedBy: string): MeasuredValue {
    const [owner, ...others] = this.#meant(askedBy, key);
    const { byName, givers } = this.#current();
    const own = byName.get(askedBy)?.device;
    // A sensor of its own device may give the key once it has started.
    if (owner !== own && (givers.get(undefined) ?? []).some((one) => one.device === own && this.#isBeginning(one)))
      throw sensorFault('awaited-input', `${key} has not come yet`);
    if (others.length > 0) throw sensorFault('no-input', `${key} is a key of several devices, and not of its own`);
    const kept = this.#values.get(ownedKey(owner, key));
    if (kept === undefined)
      throw sensorFault(this.#isAwaited(key, owner) ? 'awaited-input' : 'no-input', `${key} has not come yet`);
    const { state, refused = [], error } = this.#states.get(kept.sensor) ?? {};
    if (state === 'failing')
      throw sensorFault('no-input', `${key} is missing, as ${kept.sensor} fails: ${error?.message}`);
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
    const { byName, owners } = this.#current();
    const config = byName.get(samples[0]?.sensor ?? '');
    const owner = config?.device;
    for (const sample of samples) {
      const { name, owned } = config === undefined ? nameFor(undefined, sample.key) : this.#nameOf(config, sample.key);
      if (this.#values.size >= MAX_KEYS && !this.#values.has(owned)) continue;
      this.#values.set(owned, { ...sample, name, owner });
      keys.add(owned);
      if (owners.get(name)?.has(owner) === true || this.#others.get(name)?.has(owner) === true) continue;
      // An expression may mean this one from now on.
      getOrInsert(this.#others, name, () => new Set<KeyOwner>()).add(owner);
      this.#made.reorder();
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
    const forgotten = [...this.#values].filter(([, kept]) => kept.sensor === sensor);
    for (const [key] of forgotten) this.#values.delete(key);
    this.#made.forget(forgotten.map(([key]) => key));
    for (const [, { name, owner }] of forgotten)
      if (this.#others.get(name)?.delete(owner) === true) this.#made.reorder();
  }

  #meant(sensor: string, key: string): readonly KeyOwner[] {
    const { owners, byName } = this.#current();
    const given = owners.get(key);
    const others = this.#others.get(key) ?? NOBODY;
    return meantOwners(others.size === 0 ? given : new Set([...(given ?? []), ...others]), byName.get(sensor)?.device);
  }

  /** True while a sensor that may give the key has only started, or its first window is not over. */
  #isAwaited(key: string, owner: KeyOwner): boolean {
    const { givers } = this.#current();
    return [...(givers.get(ownedKey(owner, key)) ?? []), ...(givers.get(undefined) ?? [])].some((one) =>
      this.#isBeginning(one),
    );
  }

  #isBeginning({ name, window }: SensorConfig): boolean {
    const { state = 'starting', refused = [] } = this.#states.get(name) ?? {};
    return state === 'starting' || (state === 'working' && window !== undefined && refused.length === 0);
  }

  #current(): Configured {
    const sensors = this.#sensors();
    if (sensors !== this.#configured.sensors) {
      this.#configured = configured(sensors);
      this.#made.reorder();
    }
    return this.#configured;
  }

  #nameOf(config: SensorConfig, key: string): Name {
    const names = getOrInsert(this.#names, config, () => new Map<string, Name>());
    return getOrInsert(names, key, () => nameFor(config.device, rulesOfReading(config, key)?.rename ?? key));
  }
}

const NOBODY: ReadonlySet<KeyOwner> = new Set();

interface Name {
  readonly name: string;
  /** With its device. */
  readonly owned: string;
}

function nameFor(owner: KeyOwner, name: string): Name {
  return { name, owned: ownedKey(owner, name) };
}

function configured(sensors: readonly SensorConfig[]): Configured {
  const givers = new Map<string | undefined, SensorConfig[]>();
  for (const sensor of sensors.filter(({ enabled }) => enabled))
    for (const key of keysForRules(sensor) ?? [undefined]) {
      const owned = key === undefined ? undefined : ownedKey(sensor.device, key);
      getOrInsert(givers, owned, () => []).push(sensor);
    }
  return { sensors, byName: new Map(sensors.map((one) => [one.name, one])), givers, owners: ownersOfKeys(sensors) };
}
