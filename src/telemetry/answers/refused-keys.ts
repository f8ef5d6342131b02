/**
 * Keys of which the platform refuses each entry while it takes others. They are known by refusals of single entries, each counted once others were
 * accepted since the one before it. Their entries leave a batch before it is posted, so that it need not be bisected to find them. A key is
 * forgotten when an entry of it passes. In memory alone: a restart learns them again within three refusals. The uploaders of devices have them in
 * common: a key that two devices were refused is sent alone by the others, until it passes there, and one is tried at a time.
 */

import type { EntryColumns } from '../../outbox/outbox.ts';
import { keepAtMost } from '../../values/keep-at-most.ts';

/** Fewer may be the fault of single values. */
const REFUSALS_NEEDED = 3;
/** Fewer may be the fault of one device. */
const DEVICES_NEEDED = 2;
/** Between two tries of what was refused before: they must not take the posts of the others. */
const TRY_EVERY_MS = 10_000;
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
  /** Devices and keys that passed while other devices were refused the key. */
  readonly #passing = new Map<string, true>();
  /** Undefined when it has to be found anew. */
  #common: ReadonlySet<string> | undefined;
  #accepted = 0;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  /** True when it is time to try one that was refused before. */
  mayTry(nowMs: number): boolean {
    return nowMs - this.#triedAtMs >= TRY_EVERY_MS;
  }

  /** Notes that one is tried. */
  tries(nowMs: number): void {
    this.#triedAtMs = nowMs;
  }

  /** Notes that one passed that was refused before: the next may be tried at once. */
  tookOne(): void {
    this.#triedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Counts an accepted post, and forgets the keys in it. */
  accepted(entries: EntryColumns): void {
    this.#accepted += 1;
    if (this.#refusals.size === 0) return;
    for (let row = 0; row < entries.length; row += 1) {
      if (this.#commonKeys.has(entries.keys[row] as string)) this.#passing.set(nameOf(entries, row), true);
    }
    for (let row = 0; row < entries.length; row += 1)
      if (this.#refusals.delete(nameOf(entries, row))) this.#common = undefined;
    keepAtMost(this.#passing, MAX_KEYS);
  }

  /** Counts the refusal of an entry that was sent alone. */
  refused(entries: EntryColumns): void {
    const name = nameOf(entries, 0);
    const known = this.#refusals.get(name);
    if (known?.acceptedBefore === this.#accepted) return;
    this.#passing.delete(name);
    this.#refusals.delete(name);
    this.#refusals.set(name, { count: (known?.count ?? 0) + 1, acceptedBefore: this.#accepted });
    for (const oldest of this.#refusals.keys()) {
      if (this.#refusals.size <= MAX_KEYS) break;
      this.#refusals.delete(oldest);
    }
    this.#common = undefined;
  }

  /** Returns the sequences of entries whose key is always refused; true of one where this device was refused it, and not only others. */
  sequencesIn(entries: EntryColumns): ReadonlyMap<number, boolean> {
    const found = new Map<number, boolean>();
    if (this.#refusals.size === 0) return found;
    for (let row = 0; row < entries.length; row += 1) {
      const name = nameOf(entries, row);
      const { count = 0 } = this.#refusals.get(name) ?? {};
      const isCommon = this.#commonKeys.has(entries.keys[row] as string) && !this.#passing.has(name);
      if (isCommon || count >= REFUSALS_NEEDED) found.set(entries.sequences[row] as number, count > 0);
    }
    return found;
  }

  /** Keys that several devices were refused. */
  get #commonKeys(): ReadonlySet<string> {
    if (this.#common === undefined) {
      const devices = Map.groupBy(this.#refusals.keys(), (name) => name.slice(name.indexOf('\n') + 1));
      this.#common = new Set([...devices].filter(([, names]) => names.length >= DEVICES_NEEDED).map(([key]) => key));
    }
    return this.#common;
  }
}

function nameOf({ devices, keys }: EntryColumns, row: number): string {
  return `${devices[row]}\n${keys[row]}`;
}
