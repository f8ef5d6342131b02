/** Forecast of a billing period's bytes, by those of a time before. */
import type { EpochMs } from '../host/clock.ts';

export interface ForecastFacts {
  readonly nowMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly usedBytes: number;
  readonly monthlyBytes?: number | undefined;
  /** Bytes of the time that is taken as the measure, and that time. */
  readonly seen: { readonly bytes: number; readonly ms: number };
}

export interface Forecast {
  /** Bytes of the whole period. */
  readonly bytes: number;
  /** When `monthlyBytes` are used, if that is within the period. */
  readonly reachesAtMs?: EpochMs;
}

/** A shorter time says nothing. */
export const MIN_SEEN_MS = 3_600_000;

/** Returns undefined while less than `minSeenMs` was seen. */
export function forecast(facts: ForecastFacts, minSeenMs = MIN_SEEN_MS): Forecast | undefined {
  const { nowMs, endsAtMs, usedBytes, monthlyBytes = Number.POSITIVE_INFINITY, seen } = facts;
  if (seen.ms < minSeenMs) return undefined;
  const bytesPerMs = seen.bytes / seen.ms;
  const bytes = Math.round(usedBytes + bytesPerMs * Math.max(0, endsAtMs - nowMs));
  const leftBytes = Math.max(0, monthlyBytes - usedBytes);
  const reachesAtMs = leftBytes === 0 ? nowMs : bytesPerMs > 0 ? Math.round(nowMs + leftBytes / bytesPerMs) : endsAtMs;
  return { bytes, reachesAtMs: reachesAtMs < endsAtMs ? reachesAtMs : undefined };
}
