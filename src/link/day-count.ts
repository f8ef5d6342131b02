/**
 * Bytes of the UTC days, by the time of the link's account. Until the clock is known to be right a day ends when its time has run, and what was carried
 * meanwhile counts to the day that it turns out to be.
 */
import type { EpochMs } from '../host/clock.ts';

export interface DayCount {
  /** Days since 1970-01-01 with their bytes, the present one last. A clock that is set back and forth forgets nothing of them. */
  readonly days: readonly (readonly [day: number, bytes: number])[];
  /** Bytes of the present day that were carried before its date was known. */
  readonly unsureBytes: number;
}

export interface DayPassed {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
  /** Carried meanwhile. */
  readonly bytes: number;
  /** True where the clock was known to be right before, and is now. */
  readonly wasSure: boolean;
  readonly isSure: boolean;
}

export const NO_DAYS: DayCount = { days: [], unsureBytes: 0 };
const DAY_MS = 86_400_000;
const MAX_DAYS = 8;

export function dayBytes({ days }: DayCount, atMs: EpochMs): number {
  return new Map(days).get(dayOf(atMs)) ?? 0;
}

export function daysGoneOn(count: DayCount, { fromMs, toMs, bytes, wasSure, isSure }: DayPassed): DayCount {
  const [from, to] = [dayOf(fromMs), dayOf(toMs)];
  const unsureBytes = wasSure ? 0 : count.unsureBytes + bytes;
  const sums = new Map(count.days);
  const add = (day: number, more: number): void => {
    const sum = (sums.get(day) ?? 0) + more;
    sums.delete(day);
    sums.set(day, sum);
  };
  add(from, isSure ? bytes - unsureBytes : bytes);
  // It is over whatever its date was: another day that turns out to have that date begins with nothing.
  if (!isSure && to !== from) sums.delete(from);
  add(to, isSure ? unsureBytes : 0);
  return { days: [...sums].slice(-MAX_DAYS), unsureBytes: isSure || to !== from ? 0 : unsureBytes };
}

/** Reads what an earlier run left; nothing when it is malformed. */
export function daysFrom(told: unknown): DayCount {
  if (!Array.isArray(told)) return NO_DAYS;
  const isPair = (one: unknown): one is [number, number] =>
    Array.isArray(one) && one.length === 2 && Number.isInteger(one[0]) && Number.isFinite(one[1]) && one[1] >= 0;
  return { days: told.filter(isPair).slice(-MAX_DAYS), unsureBytes: 0 };
}

function dayOf(atMs: EpochMs): number {
  return Math.floor(atMs / DAY_MS);
}
