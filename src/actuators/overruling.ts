/** What a word of somebody else, or the longest time on, is for a rule that is on: against it, or what it wants as well. */
import { type ActuatorState, speaks } from './actuator.ts';
import type { RuleState } from './rule-state.ts';

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
