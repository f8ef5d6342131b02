/** Bytes sent in this UTC day against what a metered link allows. Only backlog waits for the next day; alarms and the present never do. */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';

export const DAILY_BUDGET_FORMAT = { format: 'turnstone/daily-budget', version: 1 } as const;

const DAY_MS = 86_400_000;

/** Days since 1970-01-01 UTC, and what was sent in that day. */
export interface SentToday {
  readonly day: number;
  readonly bytes: number;
}

/** What an earlier run left; nothing when it is not what it should be. */
export function sentTodayFrom(state: JsonObject | undefined): SentToday | undefined {
  const { day, bytes } = state ?? {};
  return typeof day === 'number' && typeof bytes === 'number' && bytes >= 0 ? { day, bytes } : undefined;
}

export class DailyBudget {
  readonly #deps: { readonly clock: Clock; readonly bytesSent: () => number; readonly limitBytes: () => number | undefined };
  #day: number;
  #sentBeforeToday: number;
  readonly #carriedBytes: SentToday;

  /** `carried` is what an earlier run of the same day had sent already. */
  constructor(
    deps: { readonly clock: Clock; readonly bytesSent: () => number; readonly limitBytes: () => number | undefined },
    carried: SentToday = { day: -1, bytes: 0 },
  ) {
    this.#deps = deps;
    this.#day = this.#today();
    this.#sentBeforeToday = deps.bytesSent();
    this.#carriedBytes = carried;
  }

  /** What was sent today; to be carried over a restart. */
  today(): SentToday {
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
