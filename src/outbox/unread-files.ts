/**
 * Files of the outbox that a disk does not give when it is opened: since when, over all tries to open it. One that was not read for a while is
 * given up, and none before: minutes later a disk may give what it refuses now.
 */
import type { Clock } from '../host/clock.ts';

/** What stands still meanwhile is all delivery, and memory takes what is measured. */
const GIVEN_UP_AFTER_MS = 10 * 60_000;

export class UnreadFiles {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wasRead(name: string): void {
    this.#sinceMs.delete(name);
  }

  /** It could not be read now. Returns whether it is given up. */
  wasRefused(name: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(name) ?? nowMs;
    this.#sinceMs.set(name, sinceMs);
    return nowMs - sinceMs >= GIVEN_UP_AFTER_MS;
  }
}
