/**
 * Decides when the reason of a standing fault is told anew: at the first, and when it changes. Two reasons that take turns, or a reason that
 * counts something, are told ever more seldom.
 */
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';

const BETWEEN = { firstMs: 60_000, maxMs: 3_600_000 };

export class ToldReason {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'jitter'>;
  readonly #backoff: Backoff;
  #told: string | undefined;
  #notBeforeMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'jitter'>) {
    this.#clock = clock;
    this.#backoff = new Backoff(BETWEEN, clock);
  }

  /** Returns true when this reason is to be told now, and counts it as told. */
  isNews(reason: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (reason === this.#told || nowMs < this.#notBeforeMs) return false;
    // The first change is told at once.
    if (this.#told !== undefined) this.#notBeforeMs = nowMs + this.#backoff.nextMs();
    this.#told = reason;
    return true;
  }
}
