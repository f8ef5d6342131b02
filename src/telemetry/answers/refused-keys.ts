/**
 * Keys of which the platform refuses each entry while it takes others. They are known by refusals of single entries, each counted once others were
 * accepted since the one before it. Their entries leave a batch before it is posted, so that it need not be bisected to find them. A key is
 * forgotten when an entry of it passes. In memory alone: a restart learns them again within three refusals.
 */
import type { EntryColumns } from '../../outbox/outbox.ts';

/** Fewer may be the fault of single values. */
const REFUSALS_NEEDED = 3;
/** Beyond so many, the one that was refused longest ago is forgotten. */
const MAX_KEYS = 256;

interface Refusals {
  readonly count: number;
  /** Posts accepted before the last of them. */
  readonly acceptedBefore: number;
}

export class RefusedKeys {
  /** By device and key, the one refused last at the end. */
  readonly #refusals = new Map<string, Refusals>();
  #accepted = 0;

  /** Counts an accepted post, and forgets the keys in it. */
  accepted(entries: EntryColumns): void {
    this.#accepted += 1;
    if (this.#refusals.size === 0) return;
    for (let row = 0; row < entries.length; row += 1) this.#refusals.delete(nameOf(entries, row));
  }

  /** Counts the refusal of an entry that was sent alone. */
  refused(entries: EntryColumns): void {
    const name = nameOf(entries, 0);
    const known = this.#refusals.get(name);
    if (known?.acceptedBefore === this.#accepted) return;
    this.#refusals.delete(name);
    this.#refusals.set(name, { count: (known?.count ?? 0) + 1, acceptedBefore: this.#accepted });
    for (const oldest of this.#refusals.keys()) {
      if (this.#refusals.size <= MAX_KEYS) break;
      this.#refusals.delete(oldest);
    }
  }

  /** Returns the sequences of entries whose key is always refused. */
  sequencesIn(entries: EntryColumns): ReadonlySet<number> {
    const found = new Set<number>();
    if (this.#refusals.size === 0) return found;
    for (let row = 0; row < entries.length; row += 1) {
      const { count = 0 } = this.#refusals.get(nameOf(entries, row)) ?? {};
      if (count >= REFUSALS_NEEDED) found.add(entries.sequences[row] as number);
    }
    return found;
  }
}

function nameOf({ devices, keys }: EntryColumns, row: number): string {
  return `${devices[row]}\n${keys[row]}`;
}
