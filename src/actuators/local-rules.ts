/**
 * Rules that need no platform: while a value is above, below or equal for a time, an actuator is set, through the same gates as everyone.
 *
 *   off ─ condition holds → waiting ─ for its time → on (set) ─ condition ends, with hysteresis → off (otherwise)
 *
 * What a rule has set it takes back, whatever was restarted or changed in between: at its end, or when it is gone, or watches or sets
 * something else. Of two that hold one actuator the one that ends leaves it to the other. What a rule holds, no silence of the platform moves
 * for as long as it sees what it watches: until the next value of that key has to be there, whatever its sensor says of itself.
 * What somebody has said since a rule began, the rule does not go over until it begins anew, after a restart either.
 * Waiting survives nothing: what happened in between nobody knows, and it is counted anew; so it is when three values in a row did not come.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../host/json.ts';
import { speaks } from './actuator.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { Holder } from './no-contact.ts';
import { RuleMovements, type RuleMovementsDeps, stateOf } from './rule-movements.ts';
import type { RuleInForce, RuleState } from './rule-state.ts';
import { afterWord, asStanding, conditionHolds, noteSeen, seesUntilMs, stopWaiting, wait, watches } from './rule-state.ts';
import type { StandingRule, StandingRules } from './standing-rules.ts';

export interface LocalRulesDeps extends RuleMovementsDeps {
  readonly rules: readonly RuleInForce[];
  readonly actuators: RuleMovementsDeps['actuators'] & Pick<ActuatorControl, 'onState'>;
  readonly contact: Pick<ActuatorControl['contact'], 'heed' | 'released'>;
  readonly standing: StandingRules;
}

export class LocalRules implements Holder {
  readonly #deps: LocalRulesDeps;
  readonly #standing: StandingRules;
  readonly #movements: RuleMovements;
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  #states: ReadonlyMap<string, RuleState> = new Map();

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#standing = deps.standing;
    this.#movements = new RuleMovements(deps);
    for (const one of this.#standing.all) if (one.ended) this.#takeBack(one);
    this.configure(deps.rules);
    this.#noteOverruled(); // The longest time on may have ended before anybody listened.
    deps.contact.heed(this);
    this.#stopListening = deps.actuators.onState(({ name }) => this.#noteOverruled(name));
  }

  /** Takes up changed rules. One that stays as it is goes on; one that is switched off moves nothing by that. */
  configure(rules: readonly RuleInForce[]): void {
    if (this.#closing.signal.aborted) return;
    const before = this.#states;
    this.#noteOverruled();
    this.#states = new Map(rules.map((config) => [config.name, this.#adopt(before.get(config.name), config)]));
    for (const state of before.values()) if (this.#states.get(state.config.name) !== state) stopWaiting(state);
    for (const one of this.#standing.all) if (!one.ended) this.#compare(one, this.#states.get(one.rule));
  }

  /** A value of a sensor, under the key that the platform knows, after scaling; undefined when it came and says nothing of any condition. */
  take(sensor: string, key: string, value: JsonValue | undefined): void {
    if (this.#closing.signal.aborted) return;
    for (const state of this.#states.values()) {
      const { when, enabled, set } = state.config;
      if (when.sensor !== sensor || when.key !== key) continue;
      noteSeen(state, value, this.#deps.clock);
      if (!enabled || value === undefined) continue;
      this.#noteOverruled(set.actuator);
      this.#judge(state, value);
    }
  }

  /** The sensor no longer answers, or is another one now: what waits for its time waits no longer; what is on stays on. */
  sensorLost(sensor: string): void {
    for (const state of this.#states.values()) if (state.config.when.sensor === sensor) stopWaiting(state);
  }

  heldAtMs(actuator: string): number | undefined {
    const { desired, by } = stateOf(this.#deps.actuators, actuator) ?? {};
    if (by === 'safe-state') return undefined;
    const standing = this.#standingOn(actuator);
    // What one has set is not held by another that wants it otherwise; what somebody else has said, by one that wants the same.
    const agreeing = standing.filter(({ config }) => config.set.value === desired);
    const holding = agreeing.length > 0 || by !== 'rule' ? agreeing : standing;
    if (holding.length === 0) return undefined;
    return Math.min(this.#deps.clock.monotonicMs(), Math.max(...holding.map(seesUntilMs)));
  }

  /** It is set again when its sensor shows that the condition holds; not over what somebody else has said. */
  displaced(actuator: string): void {
    for (const state of this.#standingOn(actuator)) state.isSet = false;
  }

  /** Nothing moves and nothing is learned from here on: what would have, the next start sees. Resolves when what is known is on disk. Idempotent. */
  async close(): Promise<void> {
    this.#noteOverruled(); // What somebody has said may be carried out after this.
    this.#closing.abort();
    this.#stopListening();
    for (const state of this.#states.values()) stopWaiting(state);
    this.#movements.close();
    await this.#standing.close();
  }

  #adopt(known: RuleState | undefined, config: RuleInForce): RuleState {
    if (known !== undefined && isDeepStrictEqual(known.config, config)) return known;
    const standing = this.#standing.all.filter((one) => one.rule === config.name && !one.ended && watches(config, one));
    const on = config.enabled && standing.length > 0;
    const isOverruled = on && standing.some(({ actuator, overruled }) => overruled && actuator === config.set.actuator);
    const isSet = on && known?.isSet === true && isDeepStrictEqual(known.config.set, config.set);
    const { seenAtMs, partsInARow } = known ?? { seenAtMs: this.#deps.clock.monotonicMs(), partsInARow: 0 };
    // What was said before this process knew the rule was said while it stood.
    const overrulings = known === undefined ? 0 : this.#deps.actuators.overrulings(config.set.actuator);
    // The actuator that it stood on before the restart is gone: this one may be the same under a new name, and is taken back like it. What was
    // restored had this name before.
    const isKnown = stateOf(this.#deps.actuators, config.set.actuator)?.by === 'restore';
    if (on && known === undefined && !isKnown && standing.every(({ actuator }) => stateOf(this.#deps.actuators, actuator) === undefined))
      this.#standing.note(asStanding({ config, isOverruled }));
    return { config, on, isSet, isOverruled, overrulings, seenAtMs, partsInARow, cancelWaiting: undefined };
  }

  /** What stands of a rule, with the rule as it is now. */
  #compare(one: StandingRule, state: RuleState | undefined): void {
    // Where it has moved nothing yet, what it kept another from trying is tried again.
    if (state?.config.enabled === false) this.#letGo(one, this.#movements.isTrying(one) ? this.#holderOf(one.actuator) : undefined);
    else if (state === undefined || !watches(state.config, one) || state.config.set.actuator !== one.actuator) this.#takeBack(one);
    else {
      if (!state.isSet) this.#movements.cancel(one);
      this.#standing.note({ ...one, otherwise: state.config.otherwise });
    }
  }

  #judge(state: RuleState, value: JsonValue): void {
    const { name, set } = state.config;
    if (!conditionHolds(state.config, value, state.on)) {
      stopWaiting(state);
      if (state.on) this.#end(state);
      else if (this.#standing.mayStand(name) && this.#deps.actuators.overrulings(set.actuator) === 0) this.#takeBack(asStanding(state));
      this.#standing.settled(name);
    } else if (state.on) {
      if (!state.isSet) this.#setAgain(state);
    } else if (state.cancelWaiting === undefined) {
      if (state.config.when.forMs === 0) this.#set(state);
      else wait(state, this.#deps.clock, () => this.#set(state));
    }
  }

  /** Not over one that began later: while that one holds it is told at its end. */
  #setAgain(state: RuleState): void {
    const { name, set } = state.config;
    const later = this.#standing.begunAfter(name, set.actuator);
    const holder = this.#holderOf(set.actuator, ({ config }) => later.includes(config.name));
    if (holder === undefined) this.#set(state);
    else state.isSet = holder.isSet;
  }

  #set(state: RuleState): void {
    const { actuators, clock } = this.#deps;
    const { name, set } = state.config;
    stopWaiting(state);
    Object.assign(state, { on: true, isSet: true, isOverruled: false });
    state.overrulings = actuators.overrulings(set.actuator);
    const isNew = this.#standing.note(asStanding(state));
    this.#standing.settled(name);
    // An output that is on after a kill must be known to be held.
    const after = isNew ? { after: this.#standing.kept(clock, this.#closing.signal) } : {};
    this.#movements.move({ rule: name, actuator: set.actuator, on: true, value: set.value, ...after });
  }

  #end(state: RuleState): void {
    state.on = false;
    const { name, set } = state.config;
    for (const one of this.#standing.all) if (one.rule === name && one.actuator === set.actuator && !one.ended) this.#takeBack(one);
  }

  #takeBack(one: StandingRule): void {
    const { rule, actuator, otherwise } = one;
    const holder = this.#holderOf(actuator);
    if (holder !== undefined || otherwise === undefined || this.#isLeftAlone(one)) return void this.#letGo(one, holder);
    const owed = { ...one, ended: true, overruled: false };
    this.#standing.note(owed);
    this.#movements.move({ rule, actuator, on: false, value: otherwise, onDone: () => this.#standing.forget(owed) });
    this.#deps.contact.released(actuator, { isSet: true });
  }

  /** Leaves the actuator as it is, or to the holder. */
  #letGo(one: StandingRule, holder: RuleState | undefined): void {
    this.#movements.cancel(one);
    this.#standing.forget(one);
    this.#deps.onEvent({ rule: one.rule, on: false });
    if (holder !== undefined) this.#leaveTo(holder);
    if (this.#standingOn(one.actuator).length === 0) this.#deps.contact.released(one.actuator, { isSet: false });
  }

  /** Nothing is to be done where it is as this one wants it, and the hardware has followed. */
  #leaveTo(holder: RuleState): void {
    const { actuator, value } = holder.config.set;
    const { desired, value: shown } = stateOf(this.#deps.actuators, actuator) ?? {};
    const isAsWanted = desired === value && shown === value;
    if (!holder.isSet) this.#awaitValue(holder);
    else if (!isAsWanted && !this.#movements.isTrying(asStanding(holder))) this.#set(holder);
    // It may have seen nothing for longer than the one that leaves it.
    this.#deps.contact.released(actuator, { isSet: false });
  }

  /** Left to one of which nobody knows yet whether its condition holds: it ends when the value that would tell does not come. */
  #awaitValue(holder: RuleState): void {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    const { seenAtMs, config } = holder;
    void clock.sleep(seesUntilMs(holder) - clock.monotonicMs(), signal).then(() => {
      const state = this.#states.get(config.name);
      if (signal.aborted || state?.on !== true || state.isSet) return;
      if (state.seenAtMs === seenAtMs) this.#end(state);
      else this.#awaitValue(state); // A part of a window came, which does not tell.
    });
  }

  /** The first in the configuration; before those that this process has told none whose condition is not known yet, and may not hold. */
  #holderOf(actuator: string, counts: (state: RuleState) => boolean = () => true): RuleState | undefined {
    const nowMs = this.#deps.clock.monotonicMs();
    const holders = this.#standingOn(actuator).filter(counts);
    return holders.find(({ isSet }) => isSet) ?? holders.find((state) => nowMs < seesUntilMs(state));
  }

  /** Somebody has said since what it is to be, over another rule as well that still holds. */
  #isLeftAlone({ actuator, overruled }: StandingRule): boolean {
    const overrules = overruled || speaks(stateOf(this.#deps.actuators, actuator)?.by);
    return overrules && [...this.#states.values()].some(({ on, config }) => on && config.set.actuator === actuator);
  }

  /** Default: of all actuators. */
  #noteOverruled(actuator?: string): void {
    for (const state of this.#states.values()) {
      const { name, set } = state.config;
      if (!state.on || set.actuator !== (actuator ?? set.actuator)) continue;
      const one = this.#standing.all.find(({ rule, ended, ...its }) => rule === name && its.actuator === set.actuator && !ended);
      if (one === undefined) continue;
      const overrulings = this.#deps.actuators.overrulings(set.actuator);
      const isTrying = this.#movements.isTrying(one);
      Object.assign(state, afterWord(state, { state: stateOf(this.#deps.actuators, set.actuator), overrulings, isTrying }));
      if (one.overruled !== state.isOverruled) this.#standing.note({ ...one, overruled: state.isOverruled });
    }
  }

  /** Of those that nobody has overruled, in the order of the configuration. */
  #standingOn(actuator: string): readonly RuleState[] {
    return [...this.#states.values()].filter(({ on, isOverruled, config }) => on && !isOverruled && config.set.actuator === actuator);
  }
}
