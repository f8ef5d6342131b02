/** Bytes sent in this UTC day against what a metered link allows. Only backlog waits for the next day; alarms and the present never do. */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../values/json.ts';

export const DAILY_BUDGET_FORMAT = { format: 'turnstone/daily-budget', version: 1 } as const;

const DAY_MS = 86_400_000;
/** Days whose bytes are known; only the present one is kept over a restart. */
const MAX_DAYS = 8;

/** Days since 1970-01-01 UTC, what was sent in that day, and for how long this run and those before it ran in it. */
export interface SentToday {
  readonly day: number;
  readonly bytes: number;
  readonly ranMs: number;
}

/** Reads what an earlier run left; nothing when it is malformed. */
export function sentTodayFrom(state: JsonObject | undefined): SentToday | undefined {
  const { day, bytes, ranMs } = state ?? {};
  if (typeof day !== 'number' || typeof bytes !== 'number' || !(bytes >= 0) || typeof ranMs !== 'number')
    return undefined;
  return { day, bytes, ranMs: Math.min(DAY_MS, Math.max(0, ranMs)) };
}

export interface DailyBudgetDeps {
  readonly clock: Clock;
  /** True when the clock can be believed. */
  readonly isSynchronised: () => boolean;
  readonly bytesSent: () => number;
  readonly limitBytes: () => number | undefined;
  /** Uploads that the month of the link leaves; default all. */
  readonly link?: () => { readonly history: boolean; readonly present: boolean };
}

export class DailyBudget {
  readonly #deps: DailyBudgetDeps;
  /** By day: a clock that is set back and forth again forgets nothing. */
  readonly #sent = new Map<number, number>();
  #countedBytes: number;
  #day: number;
  /** When that day began, by time that ran: what earlier runs had of it is counted back. */
  #beganMs: number;
  /** Bytes of the present day, sent before its date was known. */
  #unsureBytes = 0;
  #isSure: boolean;

  /** `carried` is what an earlier run of the same day had sent already. */
  constructor(deps: DailyBudgetDeps, carried?: SentToday) {
    this.#deps = deps;
    this.#countedBytes = deps.bytesSent();
    if (carried !== undefined) this.#sent.set(carried.day, carried.bytes);
    this.#day = carried?.day ?? 0;
    this.#beganMs = deps.clock.monotonicMs() - (carried?.ranMs ?? 0);
    this.#goOnTo(this.#today());
    this.#isSure = deps.isSynchronised();
  }

  /** Bytes sent today, to be carried over a restart. */
  today(): SentToday {
    const countedBytes = this.#deps.bytesSent();
    // Bytes sent since the last look were sent in that day.
    const more = countedBytes - this.#countedBytes;
    this.#countedBytes = countedBytes;
    this.#add(this.#day, more);
    if (!this.#isSure) this.#unsureBytes += more;
    const day = this.#today();
    this.#isSure = this.#deps.isSynchronised();
    if (this.#isSure) {
      this.#add(this.#day, -this.#unsureBytes);
      this.#add(day, this.#unsureBytes);
    }
    if (this.#isSure || day !== this.#day) this.#unsureBytes = 0;
    // The day that was counted longest ago goes first.
    for (const known of this.#sent.keys()) if (this.#sent.size > MAX_DAYS) this.#sent.delete(known);
    this.#goOnTo(day);
    return { day, bytes: this.#sent.get(day) ?? 0, ranMs: this.#ranMs() };
  }

  /** True when the month of the link leaves nothing but alarms. */
  alarmsOnly(): boolean {
    return this.#deps.link?.().present === false;
  }

  /** True while history waits. */
  isSpent(): boolean {
    if (this.#deps.link?.().history === false) return true;
    const limit = this.#deps.limitBytes();
    return limit !== undefined && this.today().bytes >= limit;
  }

  #add(day: number, bytes: number): void {
    const sum = (this.#sent.get(day) ?? 0) + bytes;
    this.#sent.delete(day);
    this.#sent.set(day, sum);
  }

  #goOnTo(day: number): void {
    if (day === this.#day) return;
    // It is over whatever its date was: another day that turns out to have that date begins with nothing.
    if (this.#ranMs() >= DAY_MS && !this.#deps.isSynchronised()) this.#sent.delete(this.#day);
    this.#day = day;
    this.#beganMs = this.#deps.clock.monotonicMs();
  }

  #ranMs(): number {
    return this.#deps.clock.monotonicMs() - this.#beganMs;
  }

  #dayByRunning(): number {
    return this.#day + Math.floor(this.#ranMs() / DAY_MS);
  }

  /** Until the clock is right no day that was over comes back, as with a clock that restarts at each boot; the last ends when its time has run. */
  #today(): number {
    const day = Math.floor(this.#deps.clock.wallMs() / DAY_MS);
    return this.#deps.isSynchronised() ? day : Math.max(day, this.#dayByRunning());
  }
}
