/** What an actuator may be asked for, and how often. Pure: the state comes in, a refusal or nothing comes out. */
import { AgentError, type ErrorCode } from '../errors.ts';
import { type ActuatorSettings, type ActuatorValue, isActive } from './actuator.ts';

/** What is remembered of the past for the sake of the limits; times in ms since boot. */
export interface SwitchHistory {
  /** When it last became active or inactive. */
  readonly changedAtMs: number | undefined;
  /** When it was switched on, within the last hour. */
  readonly switchedOnAtMs: readonly number[];
}

export interface ValueCheck {
  readonly settings: ActuatorSettings;
  readonly current: ActuatorValue | undefined;
  readonly history: SwitchHistory;
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
const DEFAULT_LONGEST_PULSE_MS = 60_000;
/** Longer than any command or display line, and short enough for an argument. */
const LONGEST_TEXT = 1_024;
/** Steps of decimals are not exact in binary. */
const STEP_TOLERANCE = 1e-6;

/** @throws AgentError `actuators/wrong-type`, `actuators/out-of-range` or `actuators/off-step` (drop). */
export function checkValue(settings: ActuatorSettings, value: unknown): ActuatorValue {
  if (typeof value !== settings.valueType || (typeof value === 'number' && !Number.isFinite(value)))
    throw refused('actuators/wrong-type', settings, `takes a ${settings.valueType}`);
  if (typeof value === 'number') checkNumber(settings, value);
  if (typeof value === 'string' && value.length > LONGEST_TEXT)
    throw refused('actuators/out-of-range', settings, `takes up to ${LONGEST_TEXT} characters`);
  return value as ActuatorValue;
}

/** @throws AgentError `actuators/least-on-time`, `actuators/least-off-time` or `actuators/too-many-switches` (retry). */
export function checkTimes({ settings, current, history, nowMs }: ValueCheck, value: ActuatorValue): void {
  const { leastOnMs = 0, leastOffMs = 0, mostSwitchesPerHour } = settings.limits;
  const turnsOn = isActive(value);
  if (current !== undefined && isActive(current) === turnsOn) return;
  const sinceMs = nowMs - (history.changedAtMs ?? Number.NEGATIVE_INFINITY);
  if (!turnsOn && sinceMs < leastOnMs) throw tooSoon('actuators/least-on-time', settings, leastOnMs - sinceMs);
  if (turnsOn && sinceMs < leastOffMs) throw tooSoon('actuators/least-off-time', settings, leastOffMs - sinceMs);
  if (!turnsOn || mostSwitchesPerHour === undefined) return;
  if (recentSwitches(history, nowMs).length >= mostSwitchesPerHour)
    throw new AgentError('actuators/too-many-switches', `${settings.name} was switched on ${mostSwitchesPerHour} times within an hour`, {
      recovery: 'retry',
    });
}

/** @throws AgentError `actuators/no-pulse` or `actuators/out-of-range` (drop). */
export function checkPulse(settings: ActuatorSettings, current: ActuatorValue | undefined, durationMs: number): void {
  const { leastOnMs = 0, longestPulseMs = DEFAULT_LONGEST_PULSE_MS } = settings.limits;
  if (settings.valueType !== 'boolean') throw refused('actuators/no-pulse', settings, 'cannot be pulsed');
  if (!(durationMs >= Math.max(1, leastOnMs) && durationMs <= longestPulseMs))
    throw refused('actuators/out-of-range', settings, `takes pulses of ${Math.max(1, leastOnMs)} to ${longestPulseMs} ms`);
  if (current === true) throw refused('actuators/already-on', settings, 'is on already');
}

/** The history after a movement from `before` to `after`. */
export function historyAfter(
  history: SwitchHistory,
  before: ActuatorValue | undefined,
  after: ActuatorValue,
  nowMs: number,
): SwitchHistory {
  if (before !== undefined && isActive(before) === isActive(after)) return history;
  const switches = recentSwitches(history, nowMs);
  return { changedAtMs: nowMs, switchedOnAtMs: isActive(after) ? [...switches, nowMs] : switches };
}

function recentSwitches(history: SwitchHistory, nowMs: number): readonly number[] {
  return history.switchedOnAtMs.filter((atMs) => nowMs - atMs < HOUR_MS);
}

function checkNumber(settings: ActuatorSettings, value: number): void {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, step } = settings.limits;
  if (value < min || value > max) throw refused('actuators/out-of-range', settings, `takes ${min} to ${max}`);
  if (step === undefined) return;
  const steps = (value - (settings.limits.min ?? 0)) / step;
  if (Math.abs(steps - Math.round(steps)) > STEP_TOLERANCE) throw refused('actuators/off-step', settings, `takes steps of ${step}`);
}

function tooSoon(code: ErrorCode, settings: ActuatorSettings, leftMs: number): AgentError {
  return new AgentError(code, `${settings.name} may be switched in ${Math.ceil(leftMs / 1000)} s at the earliest`, { recovery: 'retry' });
}

function refused(code: ErrorCode, settings: ActuatorSettings, why: string): AgentError {
  return new AgentError(code, `${settings.name} ${why}`, { recovery: 'drop' });
}
