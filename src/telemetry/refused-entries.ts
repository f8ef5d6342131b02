/** Takes refused entries to the disk, and waits for it only so long: while it hangs, the delivery of all others goes on. */

import { outcomeWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Outbox, ResolvedEntry } from '../outbox/outbox.ts';

export interface RefusedEntriesDeps {
  readonly outbox: Pick<Outbox, 'aside' | 'reject'>;
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
  keep(entry: ResolvedEntry, answer: string): Promise<boolean> {
    const { outbox, clock, log } = this.#deps;
    const keeping = this.#underWay.get(entry.sequence) ?? this.#begin(entry.sequence, outbox.reject(entry, answer));
    const kept = keeping.then(
      () => true,
      (error: unknown) => {
        log.warn({ key: entry.key, err: error }, 'what is refused cannot be written down yet; it waits');
        return false;
      },
    );
    return outcomeWithin(
      clock,
      KEPT_WITHIN_MS,
      () => kept,
      () => false,
    );
  }

  #begin(sequence: number, work: Promise<void>): Promise<void> {
    const keeping = work.finally(() => this.#underWay.delete(sequence));
    this.#underWay.set(sequence, keeping);
    return keeping;
  }
}
