/** Limits on the values of an actuator and on how often it switches. Pure: the state comes in, a refusal or nothing comes out. */

import { rangeText } from '../config/fields/range-text.ts';
import { AgentError, type ErrorCode } from '../errors/agent-error.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import { type ActuatorSettings, type ActuatorValue, isActive, nearestValue } from './kind/actuator.ts';
import { expectValueFor } from './kind/actuator-value.ts';
import type { PinRecord } from './pin-record.ts';

/** Switching that the limits ask for; times in ms since boot. */
export interface SwitchHistory {
  /** When it last became active or inactive; undefined also where no limit asks. */
  readonly changedAtMs: number | undefined;
  /** When it was switched on, within the last hour: as many as a limit counts. */
  readonly switchedOnAtMs: readonly number[];
}

/** For how long switching on counts for a limit. */
export const SWITCHES_COUNT_MS = 3_600_000;

type PinTimes = Pick<PinRecord, 'settings' | 'expected' | 'history' | 'changedAtMs' | 'offDueMs' | 'lostAtMs'>;
type PinPulses = Pick<PinRecord, 'settings' | 'value' | 'expected' | 'isInPulse'>;

const DEFAULT_MAX_PULSE_MS = 60_000;
/** Longer than any command or display line, and short enough for an argument. */
const MAX_TEXT_LENGTH = 1_024;
/** Steps of decimals are not exact in binary. */
const STEP_TOLERANCE = 1e-6;

/** The value in the actuator's own type, as its hardware will have it. @throws AgentError `actuators/wrong-type`, `actuators/out-of-range` or `actuators/off-step` (drop). */
export function checkValue(settings: ActuatorSettings, given: unknown): ActuatorValue {
  const value = expectValueFor(settings, given);
  if (typeof value === 'number') checkNumber(settings, value);
  if (typeof value === 'string' && value.length > MAX_TEXT_LENGTH)
    throw refused('actuators/out-of-range', settings, `takes up to ${MAX_TEXT_LENGTH} characters`);
  return nearestValue(settings, value);
}

/**
 * Checks the least and longest times. An unknown state counts as on against the longest time, and as switched just now against the least time
 * off; it never holds up off.
 * @throws AgentError `actuators/min-on`, `actuators/min-off`, `actuators/too-many-switches` or `actuators/max-on` (retry).
 */
export function checkTimes(record: PinTimes, value: ActuatorValue, nowMs: number): void {
  const { settings, expected } = record;
  const { maxSwitchesPerHour } = settings.limits;
  const turnsOn = isActive(value);
  if (turnsOn && (record.offDueMs ?? Number.POSITIVE_INFINITY) <= nowMs)
    throw toldError('actuators/max-on', sentence('longestTimeUnknown', { output: settings.name }), {
      recovery: 'retry',
    });
  if (expected !== undefined ? isActive(expected) === turnsOn : !turnsOn) return;
  const leftMs = restEndsMs(record, value) - nowMs;
  if (leftMs > 0) throw tooSoon(turnsOn ? 'actuators/min-off' : 'actuators/min-on', settings, leftMs);
  if (!turnsOn || maxSwitchesPerHour === undefined) return;
  if (nowMs - (record.lostAtMs ?? Number.NEGATIVE_INFINITY) < SWITCHES_COUNT_MS)
    throw toldError('actuators/too-many-switches', sentence('tooManyStartsPerhaps', { output: settings.name }), {
      recovery: 'retry',
    });
  if (recentSwitches(record.history, nowMs).length >= maxSwitchesPerHour)
    throw toldError(
      'actuators/too-many-switches',
      sentence('tooManyStarts', { output: settings.name, count: maxSwitchesPerHour }),
      { recovery: 'retry' },
    );
}

/** @throws AgentError `actuators/no-pulse`, `actuators/out-of-range` or `actuators/already-on` (drop). */
export function checkPulse(record: PinPulses, durationMs: number): void {
  const { settings, expected, value } = record;
  const { minOnMs = 0, maxPulseMs = DEFAULT_MAX_PULSE_MS } = settings.limits;
  if (settings.valueType !== 'boolean') throw refused('actuators/no-pulse', settings, 'cannot be pulsed');
  if (!(durationMs >= Math.max(1, minOnMs) && durationMs <= maxPulseMs))
    throw refused('actuators/out-of-range', settings, `takes pulses of ${Math.max(1, minOnMs)} to ${maxPulseMs} ms`);
  if (expected === true) throw refused('actuators/already-on', settings, 'is on already');
  // Off may be under way: it is seen when its turn has come whether that was taken.
  if (value === undefined) checkPulseOver(record);
}

/** When it has been on, or off, for its least time: before that it is not switched to the value. */
export function restEndsMs({ settings, changedAtMs }: PinTimes, value: ActuatorValue): number {
  const { minOnMs = 0, minOffMs = 0 } = settings.limits;
  return (changedAtMs ?? Number.NEGATIVE_INFINITY) + (isActive(value) ? minOffMs : minOnMs);
}

/** One pulse is over before the next begins, or both are one that is too long. @throws AgentError `actuators/already-on` (drop). */
export function checkPulseOver({ settings, value, isInPulse }: PinPulses): void {
  if (isInPulse && value !== false)
    throw refused('actuators/already-on', settings, 'is not known to be off since its last pulse');
}

/** The history after it was switched on or off, or may have been. */
export function switchSince(history: SwitchHistory, atMs: number): SwitchHistory {
  return { changedAtMs: atMs, switchedOnAtMs: recentSwitches(history, atMs) };
}

/** The history after it was switched on, or may have been. */
export function switchedOn(history: SwitchHistory, atMs: number): SwitchHistory {
  return { changedAtMs: atMs, switchedOnAtMs: [...recentSwitches(history, atMs), atMs] };
}

/** Returns what a limit asks for of a history, as each change is written to a card; `before` where nothing of that has changed. */
export function neededHistory(
  { limits }: ActuatorSettings,
  history: SwitchHistory,
  before: SwitchHistory,
): SwitchHistory {
  const { minOnMs, minOffMs, maxSwitchesPerHour } = limits;
  const changedAtMs = minOnMs === undefined && minOffMs === undefined ? undefined : history.changedAtMs;
  const switchedOnAtMs = maxSwitchesPerHour === undefined ? [] : history.switchedOnAtMs.slice(-maxSwitchesPerHour);
  const isSame =
    changedAtMs === before.changedAtMs &&
    switchedOnAtMs.length === before.switchedOnAtMs.length &&
    switchedOnAtMs.every((atMs, at) => atMs === before.switchedOnAtMs[at]);
  return isSame ? before : { changedAtMs, switchedOnAtMs };
}

/** When it was switched on, as far as it counts. */
export function recentSwitches(history: SwitchHistory, nowMs: number): readonly number[] {
  return history.switchedOnAtMs.filter((atMs) => nowMs - atMs < SWITCHES_COUNT_MS);
}

function checkNumber(settings: ActuatorSettings, value: number): void {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, step } = settings.limits;
  if (value < min || value > max) throw refused('actuators/out-of-range', settings, `takes ${rangeText(min, max)}`);
  if (settings.holds?.(value) === false) throw refused('actuators/out-of-range', settings, `has no room for ${value}`);
  if (step === undefined) return;
  const steps = (value - (settings.limits.min ?? 0)) / step;
  if (Math.abs(steps - Math.round(steps)) > STEP_TOLERANCE)
    throw refused('actuators/off-step', settings, `takes steps of ${step}`);
}

function tooSoon(code: ErrorCode, { name }: ActuatorSettings, leftMs: number): AgentError {
  return toldError(code, sentence('tooSoon', { output: name, leftS: Math.ceil(leftMs / 1000) }), { recovery: 'retry' });
}

function refused(code: ErrorCode, settings: ActuatorSettings, why: string): AgentError {
  return new AgentError(code, `${settings.name} ${why}`, { recovery: 'drop' });
}
