/**
 * Steps of what a gateway does without when its month would not suffice, one step at a time:
 *
 *   0 everything ─► 1 attributes at wakes ─► 2 commands at wakes too ─► 3 readings at wakes, no history ─► 4 alarms only
 *
 * A step is taken at most every half hour, and undone when the forecast has been below nine tenths for six hours. What is left of the month
 * but a reserve is never touched: then it is alarms only, at once.
 */
import type { EpochMs } from '../host/clock.ts';

export const LADDER_STEPS = [
  'everything',
  'attributes-at-wakes',
  'commands-at-wakes',
  'readings-at-wakes',
  'alarms-only',
] as const;
export type LadderStep = (typeof LADDER_STEPS)[number];

export interface LadderState {
  /** Number of steps taken, 0 to 4. */
  readonly taken: number;
  readonly changedAtMs: EpochMs;
  /** Start of the time for which the forecast has been low. */
  readonly lowSinceMs?: EpochMs;
}

export interface LadderFacts {
  readonly nowMs: EpochMs;
  readonly usedBytes: number;
  readonly monthlyBytes: number;
  readonly reserveBytes: number;
  /** Forecast of the period by what this step uses; undefined while that is not known. */
  readonly forecastBytes: number | undefined;
}

export const STEP_EVERY_MS = 30 * 60_000;
const LOW_FOR_MS = 6 * 3_600_000;
/** Below this share of the month a step is undone, and history goes. */
export const LOW_SHARE = 0.9;
const ALARMS_ONLY = LADDER_STEPS.length - 1;
/** Share of the month that is kept back, and at most. */
const RESERVE_SHARE = 0.01;
const MAX_RESERVE_SHARE = 0.2;
/** Reserve for what is on its way when the month is over: a batch with what it costs on the line, and as much again for the rest. */
const RESERVED_BATCHES = 2.4;

export const LADDER_BEGIN: LadderState = { taken: 0, changedAtMs: 0 };

export function nextStep(state: LadderState, facts: LadderFacts): LadderState {
  const { nowMs, usedBytes, monthlyBytes, reserveBytes, forecastBytes } = facts;
  const { taken } = state;
  // A clock that was ahead may have put them after now.
  const changedAtMs = Math.min(state.changedAtMs, nowMs);
  const lowSinceMs = Math.min(state.lowSinceMs ?? nowMs, nowMs);
  const to = (steps: number): LadderState => ({ taken: steps, changedAtMs: nowMs });
  if (usedBytes >= monthlyBytes - reserveBytes) return taken === ALARMS_ONLY ? { taken, changedAtMs } : to(ALARMS_ONLY);
  if (forecastBytes === undefined)
    return { taken, changedAtMs, lowSinceMs: state.lowSinceMs === undefined ? undefined : lowSinceMs };
  if (forecastBytes > monthlyBytes && taken < ALARMS_ONLY && nowMs - changedAtMs >= STEP_EVERY_MS) return to(taken + 1);
  if (taken === 0 || forecastBytes >= monthlyBytes * LOW_SHARE) return { taken, changedAtMs };
  return nowMs - lowSinceMs >= LOW_FOR_MS ? to(taken - 1) : { taken, changedAtMs, lowSinceMs };
}

/** Returns the bytes of a month that are kept back for what is on its way when it is used up, and for what goes on until its end. */
export function reserveOf(monthlyBytes: number, maxBatchBytes: number, goesOnBytes = 0): number {
  const onItsWay = Math.max(monthlyBytes * RESERVE_SHARE, maxBatchBytes * RESERVED_BATCHES);
  return Math.min(monthlyBytes * MAX_RESERVE_SHARE, onItsWay + goesOnBytes);
}

/** Returns what the steps taken leave. */
export function manners({ taken }: Pick<LadderState, 'taken'>): {
  readonly attributes: 'standing' | 'wakes' | 'never';
  readonly commands: 'standing' | 'wakes' | 'never';
  readonly history: boolean;
  readonly present: boolean;
  /** True where readings wait for a wake and go together. */
  readonly gathers: boolean;
} {
  const polls = (from: number) => (taken >= ALARMS_ONLY ? 'never' : taken >= from ? 'wakes' : 'standing');
  return {
    attributes: polls(1),
    commands: polls(2),
    history: taken < 3,
    present: taken < ALARMS_ONLY,
    gathers: taken === 3,
  };
}
