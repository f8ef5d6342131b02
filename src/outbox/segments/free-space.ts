/** What the disk has left, asked now and then. What cannot be asked stays as it was. */
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { Log } from '../../host/log.ts';

/** Asking the file system costs a call; the space of others does not vanish faster than this. */
const MAX_AGE_MS = 10_000;

export interface FreeSpaceDeps {
  readonly files: Files;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class FreeSpace {
  readonly #deps: FreeSpaceDeps;
  #bytes = Number.POSITIVE_INFINITY;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(deps: FreeSpaceDeps) {
    this.#deps = deps;
  }

  /** When last asked. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It is asked again, however short ago it was. */
  forget(): void {
    this.#readMs = Number.NEGATIVE_INFINITY;
  }

  async refresh(): Promise<void> {
    const { clock, files, folder, log } = this.#deps;
    if (clock.monotonicMs() - this.#readMs < MAX_AGE_MS) return;
    this.#readMs = clock.monotonicMs();
    try {
      this.#bytes = await files.freeBytes(folder);
    } catch (error) {
      log.warn({ err: error }, 'free space cannot be read');
    }
  }
}
