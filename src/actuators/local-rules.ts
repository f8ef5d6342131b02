/**
 * Rules that need no platform: while a value is above, below or equal for a time, an actuator is set, through the same gates as everyone.
 *
 *   off ─ condition holds → waiting ─ for its time → on (set) ─ condition ends, with hysteresis → off (otherwise)
 *
 * What a rule has set it takes back, whatever was restarted or changed in between: at its end, or when it is gone, or watches or sets
 * something else. Of two that hold one actuator the one that ends leaves it to the other. What a rule holds, no silence of the platform moves
 * for as long as it sees what it watches: until the next value of that key has to be there, whatever its sensor says of itself.
 * Waiting survives nothing: what happened in between nobody knows, and it is counted anew.
 */
import { isDeepStrictEqual } from 'node:util';
import type { RuleConfig } from '../config/agent-config.ts';
import type { JsonValue } from '../host/json.ts';
import type { ActuatorState } from './actuator.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { Holder } from './no-contact.ts';
import { RuleMovements, type RuleMovementsDeps } from './rule-movements.ts';
import { type StandingRule, StandingRules } from './standing-rules.ts';

/** A rule whose sensor is sampled. */
export interface RuleInForce extends RuleConfig {
  /** How long after a value of its sensor the next one comes at the latest. */
  readonly nextWithinMs: number;
}

export interface LocalRulesDeps extends RuleMovementsDeps {
  readonly rules: readonly RuleInForce[];
  readonly actuators: Pick<ActuatorControl, 'set' | 'states'>;
  readonly contact: Pick<ActuatorControl['contact'], 'heed' | 'released'>;
  /** Default: nothing outlives the process. */
  readonly standing?: StandingRules;
}

interface RuleState {
  readonly config: RuleInForce;
  on: boolean;
  /** Whether the actuator was told so by this process, as the rule is now; what is on and was not told is told by the next value. */
  isSet: boolean;
  /** Whether an earlier process may have set it and nobody knows: the first value at which the condition does not hold takes it back. */
  mayStand: boolean;
  /** When what it watches had a value last; before the first, since when one is waited for. */
  seenAtMs: number;
  /** Ends the waiting for the condition's time. */
  cancelWaiting: (() => void) | undefined;
}

export class LocalRules implements Holder {
  readonly #deps: LocalRulesDeps;
  readonly #standing: StandingRules;
  readonly #movements: RuleMovements;
  readonly #closing = new AbortController();
  #states: ReadonlyMap<string, RuleState> = new Map();

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#standing = deps.standing ?? StandingRules.inMemory();
    this.#movements = new RuleMovements(deps);
    for (const one of this.#standing.all) if (one.ended) this.#takeBack(one);
    this.configure(deps.rules);
    deps.contact.heed(this);
  }

  /** Takes up changed rules. One that stays as it is goes on; one that is switched off moves nothing by that. */
  configure(rules: readonly RuleInForce[]): void {
    if (this.#closing.signal.aborted) return;
    const before = this.#states;
    this.#states = new Map(rules.map((config) => [config.name, this.#adopt(before.get(config.name), config)]));
    for (const state of before.values()) if (this.#states.get(state.config.name) !== state) stopWaiting(state);
    for (const one of this.#standing.all) if (!one.ended) this.#compare(one, this.#states.get(one.rule));
  }

  /** A value of a sensor, under the key that the platform knows, after scaling. */
  take(sensor: string, key: string, value: JsonValue): void {
    if (this.#closing.signal.aborted) return;
    for (const state of this.#states.values()) {
      const { when, enabled } = state.config;
      if (when.sensor !== sensor || when.key !== key) continue;
      state.seenAtMs = this.#deps.clock.monotonicMs();
      if (enabled) this.#judge(state, value);
    }
  }

  /** The sensor no longer answers, or is another one now: what waits for its time waits no longer; what is on stays on. */
  sensorLost(sensor: string): void {
    for (const state of this.#states.values()) if (state.config.when.sensor === sensor) stopWaiting(state);
  }

  heldAtMs(actuator: string): number | undefined {
    const standing = this.#isLastWriter(actuator) ? this.#standingOn(actuator) : [];
    if (standing.length === 0) return undefined;
    // What one has set is not held by another that wants it otherwise.
    const desired = this.#stateOf(actuator)?.desired;
    const agreeing = standing.filter(({ config }) => config.set.value === desired);
    const holding = agreeing.length > 0 ? agreeing : standing;
    return Math.min(this.#deps.clock.monotonicMs(), Math.max(...holding.map(({ seenAtMs, config }) => seenAtMs + config.nextWithinMs)));
  }

  /** It is set again when its sensor shows that the condition holds; not over what somebody else has written. */
  displaced(actuator: string): void {
    if (this.#isLastWriter(actuator)) for (const state of this.#standingOn(actuator)) state.isSet = false;
  }

  /** Nothing moves and nothing is learned from here on: what would have, the next start sees. Resolves when what is known is on disk. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const state of this.#states.values()) stopWaiting(state);
    this.#movements.close();
    await this.#standing.close();
  }

  #adopt(known: RuleState | undefined, config: RuleInForce): RuleState {
    if (known !== undefined && isDeepStrictEqual(known.config, config)) return known;
    const stands = this.#standing.all.some((one) => one.rule === config.name && !one.ended && watches(config, one));
    const on = config.enabled && stands;
    const isSet = on && known?.isSet === true && isDeepStrictEqual(known.config.set, config.set);
    const mayStand = !on && (known?.mayStand ?? this.#standing.isLost);
    const seenAtMs = known?.seenAtMs ?? this.#deps.clock.monotonicMs();
    return { config, on, isSet, mayStand, seenAtMs, cancelWaiting: undefined };
  }

  /** What stands of a rule, with the rule as it is now. */
  #compare(one: StandingRule, state: RuleState | undefined): void {
    if (state?.config.enabled === false) this.#letGo(one);
    else if (state === undefined || !watches(state.config, one) || state.config.set.actuator !== one.actuator) this.#takeBack(one);
    else {
      if (!state.isSet) this.#movements.cancel(one);
      this.#standing.note({ ...one, otherwise: state.config.otherwise });
    }
  }

  #judge(state: RuleState, value: JsonValue): void {
    if (!conditionHolds(state.config, value, state.on)) {
      stopWaiting(state);
      if (state.on) this.#end(state);
      else if (state.mayStand) this.#takeBack(asStanding(state.config));
      state.mayStand = false;
    } else if (state.on) {
      if (!state.isSet) this.#set(state);
    } else if (state.cancelWaiting === undefined) {
      const { forMs } = state.config.when;
      if (forMs === 0) this.#set(state);
      else state.cancelWaiting = this.#deps.clock.after(forMs, () => this.#set(state));
    }
  }

  #set(state: RuleState): void {
    stopWaiting(state);
    state.on = true;
    state.isSet = true;
    state.mayStand = false;
    const { name, set } = state.config;
    const isNew = this.#standing.note(asStanding(state.config));
    const { clock } = this.#deps;
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
    const holder = this.#standingOn(actuator).find(({ isSet }) => isSet);
    if (holder !== undefined || otherwise === undefined) {
      this.#letGo(one);
      if (holder !== undefined) this.#leaveTo(holder);
      return;
    }
    const owed = { ...one, ended: true };
    this.#standing.note(owed);
    this.#movements.move({ rule, actuator, on: false, value: otherwise, onDone: () => this.#standing.forget(owed) });
    this.#deps.contact.released(actuator, { isSet: true });
  }

  /** Leaves the actuator as it is. */
  #letGo(one: StandingRule): void {
    this.#movements.cancel(one);
    this.#standing.forget(one);
    this.#deps.onEvent({ rule: one.rule, on: false });
    const { actuator } = one;
    if (this.#standingOn(actuator).length > 0) return;
    this.#deps.contact.released(actuator, { isSet: !this.#isLastWriter(actuator) });
  }

  /** Nothing is to be done where it is as this one wants it, or where somebody other than a rule has written since. */
  #leaveTo(holder: RuleState): void {
    const { actuator, value } = holder.config.set;
    if (this.#isLastWriter(actuator) && this.#stateOf(actuator)?.desired !== value) this.#set(holder);
    // It may have seen nothing for longer than the one that leaves it.
    this.#deps.contact.released(actuator, { isSet: !this.#isLastWriter(actuator) });
  }

  /** In the order of the configuration. */
  #standingOn(actuator: string): readonly RuleState[] {
    return [...this.#states.values()].filter(({ on, config }) => on && config.set.actuator === actuator);
  }

  #isLastWriter(actuator: string): boolean {
    return this.#stateOf(actuator)?.by === 'rule';
  }

  #stateOf(actuator: string): ActuatorState | undefined {
    return this.#deps.actuators.states().find(({ name }) => name === actuator);
  }
}

function asStanding({ name, when, set, otherwise }: RuleConfig): StandingRule {
  return { rule: name, sensor: when.sensor, key: when.key, actuator: set.actuator, otherwise, ended: false };
}

function watches({ when }: RuleConfig, { sensor, key }: Pick<StandingRule, 'sensor' | 'key'>): boolean {
  return when.sensor === sensor && when.key === key;
}

function conditionHolds({ when }: RuleConfig, value: JsonValue, on: boolean): boolean {
  if (when.equal !== undefined) return (typeof value === 'bigint' ? Number(value) : value) === when.equal;
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const number = Number(value);
  const back = on ? when.hysteresis : 0;
  if (when.above !== undefined) return number > when.above - back;
  return when.below !== undefined && number < when.below + back;
}

function stopWaiting(state: RuleState): void {
  state.cancelWaiting?.();
  state.cancelWaiting = undefined;
}
