/**
 * Paces updates that the platform offers: a few begin at once, the next ones a minute apart. A platform whose offer changes with each reading, or
 * that assigns a failing package over and over, then costs an attempt a minute, and no loop. A person's request is never held up.
 */
import type { Clock } from '../host/clock.ts';

/** Somebody who corrects an assignment does so a few times. */
const AT_ONCE = 5;
const ONE_MORE_EVERY_MS = 60_000;

export class OfferPace {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  #left = AT_ONCE;
  #countedAtMs: number;
  #isWaiting = false;

  /** `onReady` is called when an offer that had to wait may begin. */
  constructor(clock: Clock, onReady: () => void) {
    this.#clock = clock;
    this.#onReady = onReady;
    this.#countedAtMs = clock.monotonicMs();
  }

  /** Words for a person while an offer waits; undefined when none does. */
  get reason(): string | undefined {
    return this.#isWaiting
      ? 'the platform has offered too many updates one after the other: one begins each minute'
      : undefined;
  }

  /** Returns true when the next offer may begin. Calls `onReady` later where it may not. */
  allows(): boolean {
    const untilMs = this.#untilNextMs();
    if (untilMs > 0 && !this.#isWaiting) {
      this.#isWaiting = true;
      this.#clock.after(untilMs, () => {
        this.#isWaiting = false;
        this.#onReady();
      });
    }
    return untilMs <= 0;
  }

  /** A person asks for the next one. */
  waive(): void {
    this.#left = Math.max(1, this.#left);
  }

  /** An offer has begun. */
  began(): void {
    this.#left -= 1;
  }

  #untilNextMs(): number {
    const nowMs = this.#clock.monotonicMs();
    if (this.#left < AT_ONCE) {
      const more = Math.floor((nowMs - this.#countedAtMs) / ONE_MORE_EVERY_MS);
      this.#left = Math.min(AT_ONCE, this.#left + more);
      this.#countedAtMs += more * ONE_MORE_EVERY_MS;
    }
    if (this.#left === AT_ONCE) this.#countedAtMs = nowMs;
    return this.#left > 0 ? 0 : this.#countedAtMs + ONE_MORE_EVERY_MS - nowMs;
  }
}
