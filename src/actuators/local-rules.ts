/**
 * Rules that need no platform: while a condition holds for its time, an output's slot says `set`; else `otherwise`. What they say is kept with
 * the slots; waiting survives nothing: what happened in between nobody knows, and it is counted anew.
 *
 *   unread ─ first values → otherwise ─ holds → waiting ─ for its time → set ─ condition ends, with hysteresis → otherwise
 *              any of them ─ a value that decides is lost: nothing, or `sensorLost` ─ the next value → as it says
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConditionConfig, RuleConfig } from '../config/agent-config.ts';
import { partsOf } from '../config/rule-parts.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { LocalTime } from '../host/local-time.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { Output } from './output.ts';
import type { RuleWords } from './priority-slots.ts';
import { evaluate, type Truth, timeHolds, valueHolds } from './rule-condition.ts';
import { MISSED_VALUES, WatchedValue } from './watched-value.ts';

/** A sensor as a rule has to know it. */
export interface RuleSensor {
  /** How long after its last value it is lost; infinite where only its driver says so. */
  readonly lostAfterMs: number;
  /** Its values come when something happens, so that one that fails has lost what it said. */
  readonly isByEvent: boolean;
}

/** A rule whose sensors are sampled. */
export interface RuleInForce extends RuleConfig {
  readonly sensors: Readonly<Record<string, RuleSensor>>;
}

export interface LocalRulesDeps {
  readonly rules: readonly RuleInForce[];
  readonly control: Pick<ActuatorControl, 'find' | 'configure'>;
  readonly clock: Clock;
  /** Undefined while the clock is not trusted. */
  readonly localTime: () => LocalTime | undefined;
}

interface Watched {
  readonly condition: ConditionConfig;
  readonly isNegated: boolean;
  readonly value: WatchedValue;
}

interface RuleState {
  readonly config: RuleInForce;
  readonly watched: readonly Watched[];
  cancelWaiting: (() => void) | undefined;
}

/** The clock says a word each minute, as a sensor does. */
const MINUTE_MS = 60_000;
/** A clock that is not trusted is looked at this often. */
const LOOK_AGAIN_MS = 5_000;

export class LocalRules {
  readonly #deps: LocalRulesDeps;
  #states: ReadonlyMap<string, RuleState> = new Map();
  #cancelMinute = (): void => {};
  #isClosed = false;

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#states = new Map(deps.rules.map((config) => [config.name, this.#begin(config)]));
    this.#minute();
  }

  /** Takes up changed rules. One that stays as it is goes on. */
  configure(rules: readonly RuleInForce[]): void {
    if (this.#isClosed) return;
    const before = this.#states;
    const goesOn = (state: RuleState | undefined, config: RuleInForce): boolean => isDeepStrictEqual(state?.config, config);
    for (const state of before.values())
      if (!rules.some((config) => goesOn(state, config) && config.name === state.config.name)) end(state);
    this.#states = new Map(
      rules.map((config) => {
        const known = before.get(config.name);
        return [config.name, known !== undefined && goesOn(known, config) ? known : this.#begin(config)];
      }),
    );
    this.#deps.control.configure(ruleWords(rules));
    this.#minute();
  }

  /** A value of a sensor, under the key that the platform knows, after scaling; undefined when it came and says nothing of any condition. */
  take(sensor: string, key: string, value: JsonValue | undefined): void {
    if (this.#isClosed) return;
    for (const state of this.#states.values()) {
      const ofKey = state.watched.filter(({ condition }) => condition.sensor === sensor && condition.key === key);
      for (const one of ofKey)
        this.#heard(state, one, value === undefined ? undefined : valueHolds(one.condition, value, this.#held(state, one)));
      if (ofKey.length > 0 && value !== undefined) this.#judge(state);
    }
  }

  /** The sensor is another one: what waits for its time is counted anew. */
  sensorChanged(sensor: string): void {
    this.#each(sensor, (state, { value }) => {
      stopWaiting(state);
      value.forget();
    });
  }

  /** The sensor does not answer just now: what waits for its time is counted anew, and one that reports by event is lost. */
  sensorFailed(sensor: string): void {
    this.#each(sensor, (state, { value }) => {
      stopWaiting(state);
      if (state.config.sensors[sensor]?.isByEvent === true) value.lose();
    });
  }

  /** Nothing moves and nothing is learned from here on. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#cancelMinute();
    for (const state of this.#states.values()) end(state);
  }

  #begin(config: RuleInForce): RuleState {
    const parts = config.enabled ? partsOf(config.when) : [];
    const state: RuleState = {
      config,
      watched: parts.map(({ condition, isNegated }) => {
        const { lostAfterMs = MISSED_VALUES * MINUTE_MS } = config.sensors[condition.sensor ?? ''] ?? {};
        const value = new WatchedValue({ clock: this.#deps.clock, lostAfterMs, onLost: () => this.#judge(state) });
        return { condition, isNegated, value };
      }),
      cancelWaiting: undefined,
    };
    return state;
  }

  #each(sensor: string, act: (state: RuleState, one: Watched) => void): void {
    for (const state of this.#isClosed ? [] : this.#states.values())
      for (const one of state.watched) if (one.condition.sensor === sensor) act(state, one);
  }

  /** Tells the time to the rules that go by it. */
  #minute(): void {
    this.#cancelMinute();
    const { clock, localTime } = this.#deps;
    const timed = [...this.#states.values()].filter(({ watched }) => watched.some(isTime));
    if (timed.length === 0) return;
    const now = localTime();
    for (const state of now === undefined ? [] : timed) {
      for (const one of state.watched.filter(isTime)) this.#heard(state, one, timeHolds(one.condition, now as LocalTime));
      this.#judge(state);
    }
    const nextMs = now === undefined ? LOOK_AGAIN_MS : MINUTE_MS - (clock.wallMs() % MINUTE_MS);
    this.#cancelMinute = clock.after(nextMs, () => this.#minute());
  }

  #heard(state: RuleState, { value }: Watched, says: boolean | undefined): void {
    if (value.isLost) stopWaiting(state);
    value.heard(says);
  }

  /** Says that a comparison held before; at a start it did where the rule's phase is by it. */
  #held(state: RuleState, { value, isNegated }: Watched): boolean {
    if (typeof value.truth === 'boolean') return value.truth;
    const phase = this.#phase(state);
    return phase === 'set' ? !isNegated : phase === 'otherwise' && isNegated;
  }

  #judge(state: RuleState): void {
    const { clock } = this.#deps;
    const { forMs } = state.config.when;
    const truth = truthOf(state);
    if (truth !== true) stopWaiting(state);
    if (truth === 'lost') void this.#output(state)?.take({ kind: 'sensorLost', rule: state.config.name });
    if (typeof truth !== 'boolean') return;
    // What has not held for its time does not hold.
    const holds = truth && (forMs === 0 || this.#phase(state) === 'set');
    this.#tell(state, holds);
    if (!truth || holds) return;
    state.cancelWaiting ??= clock.after(forMs, () => {
      state.cancelWaiting = undefined;
      if (truthOf(state) === true) this.#tell(state, true);
    });
  }

  #phase(state: RuleState) {
    return this.#output(state)?.slots.rules.find(({ name }) => name === state.config.name)?.phase;
  }

  #output({ config: { set } }: RuleState): Output | undefined {
    return this.#deps.control.find(set.actuator);
  }

  #tell(state: RuleState, holds: boolean): void {
    void this.#output(state)?.take({ kind: 'read', rule: state.config.name, holds });
  }
}

/** What the outputs are to know of the rules that are switched on, in the order of the file. */
export function ruleWords(rules: readonly RuleInForce[]): ReadonlyMap<string, readonly RuleWords[]> {
  return Map.groupBy(
    rules.filter(({ enabled }) => enabled).map((rule) => ({ actuator: rule.set.actuator, ...wordsOf(rule) })),
    ({ actuator }) => actuator,
  );
}

function wordsOf({ name, when, set, otherwise, protect, sensorLost, lostAfterMs }: RuleInForce): RuleWords {
  const version = JSON.stringify([when, set, otherwise, protect, sensorLost, lostAfterMs]);
  return { name, protect, set: set.value, otherwise, sensorLost, version };
}

function truthOf({ config, watched }: RuleState): Truth {
  return evaluate(config.when, (part) => watched.find(({ condition }) => condition === part)?.value.truth ?? 'unread');
}

function isTime({ condition }: Watched): boolean {
  return condition.sensor === undefined;
}

function stopWaiting(state: RuleState): void {
  state.cancelWaiting?.();
  state.cancelWaiting = undefined;
}

function end(state: RuleState): void {
  stopWaiting(state);
  for (const { value } of state.watched) value.end();
}
