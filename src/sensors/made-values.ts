/**
 * Values that are made of others. When keys have come, each value that needs them, directly or by others, is calculated once, and after all that it
 * is made of: none is made of a new and an old value of one read.
 */
import { ranksByDependence } from '../values/dependence.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import type { MadeSensor, MadeValue } from './kind/sensor-deps.ts';

/** Names of keys, with the device that each belongs to. */
interface OwnedKeys {
  /** Those under which a sensor's key comes. */
  readonly namesOf: (sensor: string, key: string) => readonly string[];
  /** The one that a sensor's expression means by a key; undefined when it may be of several devices. */
  readonly sourceOf: (sensor: string, input: string) => string | undefined;
}

interface Made {
  readonly sensor: MadeSensor;
  readonly value: MadeValue;
}

interface Order {
  readonly ranks: ReadonlyMap<Made, number>;
  readonly bySource: ReadonlyMap<string, ReadonlySet<Made>>;
}

export class MadeValues {
  readonly #keys: OwnedKeys;
  /** With the source of each of its inputs. */
  readonly #all = new Map<Made, ReadonlyMap<string, string>>();
  #order: Order | undefined;
  /** By rank. */
  #due: (Set<Made> | undefined)[] = [];
  #isCalculating = false;

  constructor(keys: OwnedKeys) {
    this.#keys = keys;
  }

  /** Calculates at once what it can, as its keys may come again in an hour. The returned function ends it. */
  add(sensor: MadeSensor): () => void {
    const added = sensor.values.map((value): Made => ({ sensor, value }));
    for (const one of added) this.#all.set(one, new Map());
    this.reorder();
    this.#calculate(added);
    return () => {
      for (const one of added) this.#all.delete(one);
      this.reorder();
    };
  }

  /** Their names, or those that are meant by their inputs, may be others now. */
  reorder(): void {
    this.#order = undefined;
  }

  /** New values have come under these keys; also while others are calculated. */
  came(keys: Iterable<string>): void {
    const { bySource } = this.#current();
    this.#calculate([...keys].flatMap((key) => [...(bySource.get(key) ?? [])]));
  }

  /** Has every value forget these keys, whose sensor is another one now, and all that is made of them. */
  forget(keys: Iterable<string>): void {
    const { bySource } = this.#current();
    const forgotten = new Set(keys);
    const concerned = new Set<Made>();
    // Those that are added meanwhile are gone through, too.
    for (const key of forgotten)
      for (const one of bySource.get(key) ?? []) {
        concerned.add(one);
        for (const name of this.#keys.namesOf(one.sensor.name, one.value.key)) forgotten.add(name);
      }
    for (const one of concerned) {
      const sources = [...(this.#all.get(one) ?? [])].filter(([, source]) => forgotten.has(source));
      one.value.forget(new Set(sources.map(([input]) => input)));
    }
  }

  #calculate(made: readonly Made[]): void {
    if (made.length === 0) return;
    for (const one of made) {
      const rank = this.#current().ranks.get(one) ?? 0;
      this.#due[rank] = (this.#due[rank] ?? new Set()).add(one);
    }
    if (this.#isCalculating) return;
    this.#isCalculating = true;
    try {
      for (let rank = 0; rank < this.#due.length; rank += 1)
        for (const [sensor, due] of Map.groupBy(this.#due[rank] ?? [], (one) => one.sensor)) {
          const readings = due.flatMap(({ value }) => value.calculate() ?? []);
          if (readings.length > 0) sensor.tell(readings);
        }
    } finally {
      this.#due = [];
      this.#isCalculating = false;
    }
  }

  #current(): Order {
    this.#order ??= this.#ordered();
    return this.#order;
  }

  #ordered(): Order {
    const bySource = new Map<string, Set<Made>>();
    const byName = new Map<string, Made[]>();
    for (const [one, before] of this.#all) {
      const sources = this.#sourcesOf(one);
      for (const source of sources.values()) getOrInsert(bySource, source, () => new Set<Made>()).add(one);
      for (const name of this.#keys.namesOf(one.sensor.name, one.value.key))
        getOrInsert(byName, name, () => []).push(one);
      const others = [...before].filter(([input, source]) => sources.get(input) !== source);
      this.#all.set(one, sources);
      // Nothing is compared with another device's value.
      if (others.length > 0) one.value.forget(new Set(others.map(([input]) => input)));
    }
    const ranks = ranksByDependence([...this.#all.keys()], (one) =>
      [...(this.#all.get(one)?.values() ?? [])].flatMap((source) => byName.get(source) ?? []),
    );
    return { ranks, bySource };
  }

  #sourcesOf({ sensor, value }: Made): ReadonlyMap<string, string> {
    return new Map(
      value.inputs.flatMap((input) => {
        const source = this.#keys.sourceOf(sensor.name, input);
        return source === undefined ? [] : [[input, source] as const];
      }),
    );
  }
}
