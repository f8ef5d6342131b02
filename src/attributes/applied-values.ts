/**
 * The last shared value of each key that was acted on, across restarts. It is what the next answer is compared with, and not the
 * actuator: so that reconciling never undoes what an RPC or a person has done since.
 */

import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from '../values/json.ts';

export const APPLIED_VALUES_FORMAT = { format: 'turnstone/shared-attributes', version: 1 } as const;

/** `dropped`: seen, and not to be acted on any more (locked out, or overtaken by another writer). */
export type Outcome = 'applied' | 'dropped';

interface AppliedValue {
  readonly value: JsonValue;
  readonly outcome: Outcome;
}

export class AppliedValues {
  readonly #file: StateFile;
  readonly #values: Map<string, AppliedValue>;
  #isLost: boolean;

  private constructor(file: StateFile, values: Map<string, AppliedValue>, isLost: boolean) {
    this.#file = file;
    this.#values = values;
    this.#isLost = isLost;
  }

  static async open(file: StateFile): Promise<AppliedValues> {
    const json = await file.read();
    const values = new Map<string, AppliedValue>();
    const saved = json !== undefined && isJsonObject(json.values) ? json.values : {};
    for (const [key, entry] of Object.entries(saved)) {
      if (!isJsonObject(entry) || entry.value === undefined) continue;
      values.set(key, { value: entry.value, outcome: entry.outcome === 'dropped' ? 'dropped' : 'applied' });
    }
    const applied = new AppliedValues(file, values, file.isLost || json?.isLost === true);
    // The next process would find nothing lost.
    if (file.isLost && !file.liesUnread) applied.#save();
    return applied;
  }

  /** True when this very value was acted on already. */
  isKnown(key: string, value: JsonValue): boolean {
    const known = this.#values.get(key);
    return known !== undefined && jsonEqual(known.value, value);
  }

  /** Keys that hold a value, and those that held one before they were dropped. */
  has(key: string): boolean {
    return this.#values.has(key);
  }

  /** The value in force for a key; undefined when there is none. */
  applied(key: string): JsonValue | undefined {
    const known = this.#values.get(key);
    return known?.outcome === 'applied' ? known.value : undefined;
  }

  set(key: string, value: JsonValue, outcome: Outcome): void {
    this.#values.set(key, { value, outcome });
    this.#save();
  }

  /** Notes a value that is about to be acted on, so that no later process acts on it again; the returned function takes the note back. */
  begin(key: string, value: JsonValue): () => void {
    const before = this.#values.get(key);
    this.set(key, value, 'dropped');
    return () => (before === undefined ? this.delete(key) : this.set(key, before.value, before.outcome));
  }

  delete(key: string): void {
    if (this.#values.delete(key)) this.#save();
  }

  /** True when values of an earlier run cannot be read: a value that is unknown here may have been acted on. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Takes the known values for all that there are: the next reader finds nothing lost. */
  believe(): void {
    this.#isLost = false;
    this.#save();
  }

  /** Resolves when what was set is durable, or was tried once more. */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  /** As `flush`; nothing is tried after it. Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }

  #save(): void {
    const values: JsonObject = Object.fromEntries(
      [...this.#values].map(([key, { value, outcome }]) => [key, { value, outcome }]),
    );
    // A set that is saved before all was looked at is not complete.
    this.#file.save({ values, ...(this.#isLost ? { isLost: true } : {}) });
  }
}
