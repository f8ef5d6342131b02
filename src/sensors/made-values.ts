/**
 * Values that are made of others. When keys have come, each value that needs them, directly or by others, is calculated once, and after all that it
 * is made of: none is made of a new and an old value of one read.
 */
import { ranksByDependence } from '../host/dependence.ts';
import { getOrInsert } from '../host/get-or-insert.ts';
import type { MadeSensor, MadeValue } from './kind/sensor-deps.ts';

/** The platform's keys under which a sensor's key comes. */
type NamesOf = (sensor: string, key: string) => readonly string[];

interface Made {
  readonly sensor: MadeSensor;
  readonly value: MadeValue;
}

export class MadeValues {
  readonly #namesOf: NamesOf;
  readonly #all = new Set<Made>();
  readonly #byInput = new Map<string, Set<Made>>();
  #ranks: ReadonlyMap<Made, number> | undefined;
  /** By rank. */
  #due: (Set<Made> | undefined)[] = [];
  #isCalculating = false;

  constructor(namesOf: NamesOf) {
    this.#namesOf = namesOf;
  }

  /** Calculates at once what it can, as its keys may come again in an hour. The returned function ends it. */
  add(sensor: MadeSensor): () => void {
    const added = sensor.values.map((value): Made => ({ sensor, value }));
    for (const one of added) {
      this.#all.add(one);
      for (const input of one.value.inputs) getOrInsert(this.#byInput, input, () => new Set<Made>()).add(one);
    }
    this.reorder();
    this.#calculate(added);
    return () => {
      for (const one of added) {
        this.#all.delete(one);
        for (const input of one.value.inputs) this.#byInput.get(input)?.delete(one);
      }
      this.reorder();
    };
  }

  /** Their names may be others now. */
  reorder(): void {
    this.#ranks = undefined;
  }

  /** New values have come under these of the platform's keys; also while others are calculated. */
  came(keys: Iterable<string>): void {
    this.#calculate([...keys].flatMap((key) => [...(this.#byInput.get(key) ?? [])]));
  }

  /** Has every value forget these keys, whose sensor is another one now, and all that is made of them. */
  forget(keys: Iterable<string>): void {
    const forgotten = new Set(keys);
    const concerned = new Set<Made>();
    // Those that are added meanwhile are gone through, too.
    for (const key of forgotten)
      for (const one of this.#byInput.get(key) ?? []) {
        concerned.add(one);
        for (const name of this.#namesOf(one.sensor.name, one.value.key)) forgotten.add(name);
      }
    for (const { value } of concerned) value.forget(forgotten);
  }

  #calculate(made: readonly Made[]): void {
    if (made.length === 0) return;
    this.#ranks ??= this.#ranked();
    for (const one of made) {
      const rank = this.#ranks.get(one) ?? 0;
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

  #ranked(): ReadonlyMap<Made, number> {
    const byName = new Map<string, Made[]>();
    for (const one of this.#all)
      for (const name of this.#namesOf(one.sensor.name, one.value.key)) getOrInsert(byName, name, () => []).push(one);
    return ranksByDependence([...this.#all], ({ value }) => value.inputs.flatMap((input) => byName.get(input) ?? []));
  }
}
