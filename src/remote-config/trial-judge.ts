/**
 * Judges a configuration on trial by what is seen of the agent: kept as soon as it works as before, returned when an output ends in fault or
 * the time is over. Pure: who asks gives the time and what was seen. The guard outside returns the file by a timer of its own all the same.
 */
import { formatDuration } from '../config/fields/quantity.ts';
import type { Sentence } from '../errors/sentence.ts';
import { english, sentence } from '../names/sentences.ts';

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
  | { readonly verdict: 'open'; readonly missing: readonly Sentence[] }
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
  const reason = missing.length === 0 ? 'it was not judged in time' : missing.map(english).join('; ');
  return { verdict: 'returned', reason: `within ${formatDuration(terms.trialMs)}: ${reason}` };
}

function missingOf(
  { beganAtMs, sensors }: TrialTerms,
  { acknowledgedAtMs = Number.NEGATIVE_INFINITY, standing, readAtMs }: SeenOnTrial,
): readonly Sentence[] {
  const silent = sensors.filter((name) => !((readAtMs.get(name) ?? Number.NEGATIVE_INFINITY) > beganAtMs));
  return [
    acknowledgedAtMs > beganAtMs ? undefined : sentence('trialWithoutUpload'),
    standing.commands ? undefined : sentence('trialWithoutCommands'),
    standing.attributes ? undefined : sentence('trialWithoutAttributes'),
    silent.length === 0 ? undefined : sentence('trialWithoutReadings', silentOf(silent)),
  ].filter((words) => words !== undefined);
}

function silentOf(names: readonly string[]): { readonly sensors: string; readonly count: number } {
  return { sensors: names.slice(0, MAX_NAMED).join(', '), count: Math.max(0, names.length - MAX_NAMED) };
}
