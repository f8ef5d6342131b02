/** What is known of one local rule: what a value of its sensor says of its condition, and what a word of somebody else is for it. */
import type { RuleConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import { type ActuatorState, speaks } from './actuator.ts';
import type { StandingRule } from './standing-rules.ts';

/** A rule whose sensor is sampled. */
export interface RuleInForce extends RuleConfig {
  /** How long after a value of its sensor the next one comes at the latest. */
  readonly nextWithinMs: number;
}

export interface RuleState {
  readonly config: RuleInForce;
  on: boolean;
  /** Whether the actuator was told so by this process, as the rule is now; what is on and was not told is told by the next value. */
  isSet: boolean;
  /** Somebody has said otherwise since it began: it sets nothing until it begins anew. */
  isOverruled: boolean;
  /** Of its actuator, as far as they are known. */
  overrulings: number;
  /** When what it watches had a value last; before the first, since when one is waited for. */
  seenAtMs: number;
  /** How many values that say nothing of the condition have come since one that does. */
  partsInARow: number;
  /** Ends the waiting for the condition's time. */
  cancelWaiting: (() => void) | undefined;
}

export function asStanding({
  config: { name, when, set, otherwise },
  isOverruled,
}: Pick<RuleState, 'config' | 'isOverruled'>): StandingRule {
  const { sensor, key } = when;
  return { rule: name, sensor, key, actuator: set.actuator, otherwise, ended: false, overruled: isOverruled };
}

export function watches({ when }: RuleConfig, { sensor, key }: Pick<StandingRule, 'sensor' | 'key'>): boolean {
  return when.sensor === sensor && when.key === key;
}

export function conditionHolds({ when }: RuleConfig, value: JsonValue, on: boolean): boolean {
  if (when.equal !== undefined) return (typeof value === 'bigint' ? Number(value) : value) === when.equal;
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const number = Number(value);
  const back = on ? when.hysteresis : 0;
  if (when.above !== undefined) return number > when.above - back;
  return when.below !== undefined && number < when.below + back;
}

/** Until when the next value has to be there, ms since boot. */
export function seesUntilMs({ seenAtMs, config }: RuleState): number {
  return seenAtMs + config.nextWithinMs;
}

/** So many values in a row that do not come are no noise: what the value was meanwhile nobody knows. */
const MISSED_VALUES = 3;

/**
 * A value has come. What waits for its time is counted anew when too many before it did not come. Undefined says nothing of the condition:
 * after a start or a change that passes, but a sensor that fails in every window gives nothing else for ever, and is not seen by it.
 */
export function noteSeen(state: RuleState, value: JsonValue | undefined, clock: Clock): void {
  state.partsInARow = value === undefined ? state.partsInARow + 1 : 0;
  if (state.partsInARow >= MISSED_VALUES) return;
  if (!sawThroughout(state, clock)) stopWaiting(state);
  state.seenAtMs = clock.monotonicMs();
}

/** @param onHeld called when the condition has held for its time, and was seen throughout. */
export function wait(state: RuleState, clock: Clock, onHeld: () => void): void {
  state.cancelWaiting = clock.after(state.config.when.forMs, () => (sawThroughout(state, clock) ? onHeld() : stopWaiting(state)));
}

function sawThroughout({ seenAtMs, config }: RuleState, clock: Clock): boolean {
  return clock.monotonicMs() <= seenAtMs + MISSED_VALUES * config.nextWithinMs;
}

export function stopWaiting(state: RuleState): void {
  state.cancelWaiting?.();
  state.cancelWaiting = undefined;
}

/** What somebody else, or the longest time on, has said since. */
export interface WordSince {
  readonly state: ActuatorState | undefined;
  /** Of the actuator, as of now. */
  readonly overrulings: number;
  /** Whether what the rule wants is under way, or is tried again. */
  readonly isTrying: boolean;
}

/** The rule as it is after that. What nobody tries any more, although nobody has said otherwise, is set again by the next value. */
export function afterWord(rule: RuleState, word: WordSince): Pick<RuleState, 'overrulings' | 'isOverruled' | 'isSet'> {
  const isOverruled = isOverruledBy(rule, word);
  const isLost = !word.isTrying && (agreesInVain(rule, word) || isSwitchedOff(rule, word));
  return { overrulings: word.overrulings, isOverruled, isSet: isOverruled || (rule.isSet && !isLost) };
}

/** What has been said in the end counts: who wants what the rule wants does not overrule it. */
function isOverruledBy({ config, isOverruled, ...known }: RuleState, { state, overrulings }: WordSince): boolean {
  const agrees = state?.desired === config.set.value;
  const isNew = known.overrulings !== overrulings;
  // Neither a safe state nor a pulse takes back what was said.
  const takesBack = speaks(state?.by) ? isNew : state?.by !== 'safe-state';
  return isOverruled ? !agrees || !takesBack : !agrees && isNew;
}

/** Somebody wants the same, and the hardware did not follow. */
function agreesInVain({ config: { set } }: RuleState, { state }: WordSince): boolean {
  if (state === undefined || state.pulsing || !speaks(state.by)) return false;
  return state.desired === set.value && state.value !== set.value && state.fault !== undefined;
}

/** By the longest time on, without ever having been known to be on. */
function isSwitchedOff({ config: { set } }: RuleState, { state }: WordSince): boolean {
  return state?.by === 'safe-state' && state.desired !== set.value;
}
