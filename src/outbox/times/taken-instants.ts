/**
 * Timestamps of each key that are in use. The platform keeps one value per key and ms: a second one in the same ms would overwrite the
 * first. Bounded over all keys: those that were taken first are evicted.
 */

/** Keys are a few dozen; this only keeps a source of endless new keys from taking the memory. */
const MAX_KEYS = 10_000;
/** Over all keys; of a hundred keys that are read every second, the last eight minutes. */
const MAX_TAKEN = 50_000;
/** Timestamps that each key keeps, however many others there are: an edge and a reading of the same line come in any order. */
const MIN_TAKEN = 16;

export class TakenInstants {
  /** By key, each ms in use with a later one that may be free. */
  readonly #keys = new Map<string, Map<number, number>>();

  /** This ms when nothing has it, else the next that nothing has. */
  freeFrom(name: string, ms: number): number {
    const taken = this.#keys.get(name);
    let free = ms;
    for (let later = taken?.get(free); later !== undefined; later = taken?.get(free)) free = later;
    // Many values in one ms do not go the whole way each time.
    if (free !== ms) taken?.set(ms, free);
    return free;
  }

  take(name: string, ms: number): void {
    const taken = this.#keys.get(name) ?? new Map<number, number>();
    if (!this.#keys.has(name) && this.#keys.size >= MAX_KEYS) this.#keys.clear();
    this.#keys.set(name, taken);
    if (!taken.has(ms)) taken.set(ms, ms + 1);
    const most = Math.max(MIN_TAKEN, Math.floor(MAX_TAKEN / this.#keys.size));
    for (const first of taken.keys()) {
      if (taken.size <= most) break;
      taken.delete(first);
    }
  }
}
