/** Free bytes of the disk, asked for now and then. A failed call leaves the last answer in place. */
import type { OutboxPlace } from './outbox-place.ts';

/** Asking the file system costs a call; the space of others does not vanish faster than this. */
const MAX_AGE_MS = 10_000;

export class FreeSpace {
  readonly #place: OutboxPlace;
  /** When last asked. */
  bytes = Number.POSITIVE_INFINITY;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(place: OutboxPlace) {
    this.#place = place;
  }

  /** It is asked again, however short ago it was. */
  forget(): void {
    this.#readMs = Number.NEGATIVE_INFINITY;
  }

  async refresh(): Promise<void> {
    const { clock, files, folder, log } = this.#place;
    if (clock.monotonicMs() - this.#readMs < MAX_AGE_MS) return;
    this.#readMs = clock.monotonicMs();
    try {
      this.bytes = await files.freeBytes(folder);
    } catch (error) {
      log.warn({ err: error }, 'free space cannot be read');
    }
  }
}
