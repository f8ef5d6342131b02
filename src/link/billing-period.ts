/** The month of a data plan: from midnight UTC of its reset day to that of the next month. */
import type { EpochMs } from '../host/clock.ts';

export interface BillingPeriod {
  readonly beginsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
}

/** @param resetDay 1 to 28, a day that every month has. */
export function periodAt(atMs: EpochMs, resetDay: number): BillingPeriod {
  const at = new Date(atMs);
  const month = at.getUTCMonth() - (at.getUTCDate() < resetDay ? 1 : 0);
  const begin = (offset: number): EpochMs => Date.UTC(at.getUTCFullYear(), month + offset, resetDay);
  return { beginsAtMs: begin(0), endsAtMs: begin(1) };
}
