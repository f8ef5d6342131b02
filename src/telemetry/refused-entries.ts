/** Takes refused entries to the disk, and waits for it only so long: while it hangs, the delivery of all others goes on. */

import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { ResolvedEntry } from '../outbox/outbox.ts';

export interface RefusedEntriesDeps {
  readonly outbox: { reject(entry: ResolvedEntry, answer: string): Promise<void> };
  readonly clock: Clock;
  readonly log: Log;
}

const KEPT_WITHIN_MS = 5_000;

export class RefusedEntries {
  readonly #deps: RefusedEntriesDeps;
  /** By sequence: what a disk has not answered yet is not asked of it again. */
  readonly #underWay = new Map<number, Promise<void>>();

  constructor(deps: RefusedEntriesDeps) {
    this.#deps = deps;
  }

  /** Whether the entry is kept among the rejected; if not, it waits as before, and may be kept yet when the disk answers. Never rejects. */
  async keep(entry: ResolvedEntry, answer: string): Promise<boolean> {
    const { outbox, clock, log } = this.#deps;
    let isKept = false;
    const keeping = this.#underWay.get(entry.sequence) ?? this.#begin(entry.sequence, outbox.reject(entry, answer));
    const told = keeping.then(
      () => {
        isKept = true;
      },
      (error: unknown) => log.warn({ key: entry.key, err: error }, 'what is refused cannot be written down yet; it waits'),
    );
    await endedWithin(clock, KEPT_WITHIN_MS, told);
    return isKept;
  }

  #begin(sequence: number, work: Promise<void>): Promise<void> {
    const keeping = work.finally(() => this.#underWay.delete(sequence));
    this.#underWay.set(sequence, keeping);
    return keeping;
  }
}
