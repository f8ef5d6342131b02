/** Things by id that outlive the process, in the order in which they were made: each change of one is a record of the journal. */
import { isJsonObject, type JsonObject } from '../host/json.ts';

export class KeptTable<T extends object> {
  readonly #name: string;
  readonly #idOf: (item: T) => string;
  readonly #record: (record: JsonObject) => void;
  readonly #items: Map<string, T>;

  /** @param name of one item, in the journal. @param first what is there from the start, and in no journal. */
  constructor(name: string, idOf: (item: T) => string, record: (record: JsonObject) => void, first: readonly T[] = []) {
    this.#name = name;
    this.#idOf = idOf;
    this.#record = record;
    this.#items = new Map(first.map((item) => [idOf(item), item]));
  }

  get all(): readonly T[] {
    return [...this.#items.values()];
  }

  byId(id: string): T | undefined {
    return this.#items.get(id);
  }

  put(item: T): void {
    this.#items.set(this.#idOf(item), item);
    // Every item is made of JSON alone; only its interface has no index signature.
    this.#record({ t: this.#name, [this.#name]: item as unknown as JsonObject });
  }

  /** Removes an item. Returns true when it was there. */
  remove(id: string): boolean {
    this.#record({ t: `${this.#name}-gone`, id });
    return this.#items.delete(id);
  }

  /** Takes back what the journal says; answers whether the record was one of this table. */
  replay(record: JsonObject): boolean {
    const { t, id, [this.#name]: item } = record;
    if (t === `${this.#name}-gone`) this.#items.delete(String(id));
    if (t !== this.#name || !isJsonObject(item)) return t === `${this.#name}-gone`;
    // Written by `put`, in this very form.
    const kept = item as unknown as T;
    this.#items.set(this.#idOf(kept), kept);
    return true;
  }
}
