/** Bytes sent in this UTC day against what a metered link allows. Only backlog waits for the next day; alarms and the present never do. */
import type { Clock } from '../host/clock.ts';

const DAY_MS = 86_400_000;

export class DailyBudget {
  readonly #deps: { readonly clock: Clock; readonly bytesSent: () => number; readonly limitBytes: () => number | undefined };
  #day: number;
  #sentBeforeToday: number;
  readonly #carriedBytes: { day: number; bytes: number };

  /** `carried` is what an earlier run of the same day had sent already. */
  constructor(
    deps: { readonly clock: Clock; readonly bytesSent: () => number; readonly limitBytes: () => number | undefined },
    carried: { readonly day: number; readonly bytes: number } = { day: -1, bytes: 0 },
  ) {
    this.#deps = deps;
    this.#day = this.#today();
    this.#sentBeforeToday = deps.bytesSent();
    this.#carriedBytes = { ...carried };
  }

  /** What was sent today, with the day it belongs to (days since 1970-01-01 UTC); to be carried over a restart. */
  today(): { readonly day: number; readonly bytes: number } {
    const day = this.#today();
    if (day !== this.#day) {
      this.#day = day;
      this.#sentBeforeToday = this.#deps.bytesSent();
    }
    const carried = this.#carriedBytes.day === day ? this.#carriedBytes.bytes : 0;
    return { day, bytes: carried + this.#deps.bytesSent() - this.#sentBeforeToday };
  }

  isSpent(): boolean {
    const limit = this.#deps.limitBytes();
    return limit !== undefined && this.today().bytes >= limit;
  }

  #today(): number {
    return Math.floor(this.#deps.clock.wallMs() / DAY_MS);
  }
}
