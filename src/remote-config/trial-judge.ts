/**
 * Judges a configuration on trial by what is seen of the agent: kept as soon as it works as before, returned when an output ends in fault or
 * the time is over. Pure: who asks gives the time and what was seen. The guard outside returns the file by a timer of its own all the same.
 */
import { formatDuration } from '../config/fields/quantity.ts';

/** Trial as it was begun. Times are monotonic ms of one boot. */
export interface TrialTerms {
  readonly beganAtMs: number;
  /** Length, ms. */
  readonly trialMs: number;
  /** Sensors that had a reading within the trial's length before the change, and are still configured and enabled. */
  readonly sensors: readonly string[];
}

/** Observation at one time. */
export interface SeenOnTrial {
  readonly nowMs: number;
  /** Last upload that the platform acknowledged, of entries that were read under the new file. */
  readonly acknowledgedAtMs?: number | undefined;
  /** Polls that stand, or were answered since the trial began: of commands, and of attributes. */
  readonly standing: { readonly commands: boolean; readonly attributes: boolean };
  /** Newest reading of each sensor. */
  readonly readAtMs: ReadonlyMap<string, number>;
  /** Outputs in fault, with the fault in words. */
  readonly faulty: readonly { readonly name: string; readonly fault: string }[];
}

export type TrialVerdict =
  | { readonly verdict: 'open'; readonly missing: readonly string[] }
  | { readonly verdict: 'kept' }
  | { readonly verdict: 'returned'; readonly reason: string };

/** A file that works in the first seconds may still be the one that was before: sensors and polls begin anew with each. */
const NOT_BEFORE_MS = 10_000;
/** More are counted. */
const MAX_NAMED = 5;

/** Share of a trial within which a sensor has to be due once more: a reload leaves its turns as they are, and its reading takes time. */
const DUE_WITHIN = 0.8;

/** True for a sensor that is read often enough for a trial to wait for it. */
export function isDueWithin(trialMs: number, periodMs: number): boolean {
  return periodMs <= DUE_WITHIN * trialMs;
}

/** Returns how the trial stands. A reading, an answer or an upload from before its beginning counts for nothing. */
export function judgeTrial(terms: TrialTerms, seen: SeenOnTrial): TrialVerdict {
  const [fault] = seen.faulty;
  if (fault !== undefined)
    return { verdict: 'returned', reason: `the output ${fault.name} is in fault: ${fault.fault}` };
  const missing = missingOf(terms, seen);
  const ranMs = seen.nowMs - terms.beganAtMs;
  if (missing.length === 0 && ranMs >= NOT_BEFORE_MS) return { verdict: 'kept' };
  if (ranMs < terms.trialMs) return { verdict: 'open', missing };
  const reason = missing.length === 0 ? 'it was not judged in time' : missing.join('; ');
  return { verdict: 'returned', reason: `within ${formatDuration(terms.trialMs)}: ${reason}` };
}

function missingOf(
  { beganAtMs, sensors }: TrialTerms,
  { acknowledgedAtMs = Number.NEGATIVE_INFINITY, standing, readAtMs }: SeenOnTrial,
): readonly string[] {
  const silent = sensors.filter((name) => !((readAtMs.get(name) ?? Number.NEGATIVE_INFINITY) > beganAtMs));
  return [
    acknowledgedAtMs > beganAtMs ? undefined : 'no upload was acknowledged',
    standing.commands ? undefined : 'the poll for commands does not stand',
    standing.attributes ? undefined : 'the poll for attributes does not stand',
    silent.length === 0 ? undefined : `no reading of ${namesOf(silent)}`,
  ].filter((words) => words !== undefined);
}

function namesOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more` : names.join(', ');
}
