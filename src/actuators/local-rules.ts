/**
 * Rules that need no platform: while a condition holds for its time, an output's slot says `set`; else `otherwise`. What they say is kept with
 * the slots; waiting survives nothing: what happened in between nobody knows, and it is counted anew.
 *
 *   unread ─ first value → otherwise ─ holds → waiting ─ for its time → set ─ condition ends, with hysteresis → otherwise
 *              any of them ─ the sensor is lost: nothing, or `sensorLost` ─ the next value → as it says
 */
import { isDeepStrictEqual } from 'node:util';
import type { RuleConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { ActuatorControl } from './actuator-control.ts';
import type { RuleSlot, RuleWords } from './priority-slots.ts';
import { conditionHolds } from './rule-condition.ts';

/** A rule whose sensor is sampled. */
export interface RuleInForce extends RuleConfig {
  /** How long after its last value the sensor is lost; infinite where only its driver says so. */
  readonly sensorLostAfterMs: number;
  /** Its values come when something happens, so that one that fails has lost what it said. */
  readonly isByEvent: boolean;
}

export interface LocalRulesDeps {
  readonly rules: readonly RuleInForce[];
  readonly control: Pick<ActuatorControl, 'find' | 'configure'>;
  readonly clock: Clock;
}

interface RuleState {
  readonly config: RuleInForce;
  seenAtMs: number;
  /** How many values that say nothing of the condition have come since one that does. */
  partsInARow: number;
  cancelWaiting: (() => void) | undefined;
  cancelLost: () => void;
}

/** So many values in a row that do not come are no noise: what the value was meanwhile nobody knows. */
export const MISSED_VALUES = 3;

export class LocalRules {
  readonly #deps: LocalRulesDeps;
  #states: ReadonlyMap<string, RuleState> = new Map();
  #isClosed = false;

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#states = new Map(deps.rules.map((config) => [config.name, this.#begin(config)]));
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
  }

  /** A value of a sensor, under the key that the platform knows, after scaling; undefined when it came and says nothing of any condition. */
  take(sensor: string, key: string, value: JsonValue | undefined): void {
    if (this.#isClosed) return;
    for (const state of this.#statesOf(sensor)) {
      if (state.config.when.key !== key) continue;
      state.partsInARow = value === undefined ? state.partsInARow + 1 : 0;
      if (state.partsInARow >= MISSED_VALUES) continue;
      if (this.#deps.clock.monotonicMs() > lostAtMs(state)) stopWaiting(state);
      this.#seen(state);
      if (value !== undefined) this.#judge(state, value);
    }
  }

  /** The sensor is another one: what waits for its time is counted anew. */
  sensorChanged(sensor: string): void {
    for (const state of this.#statesOf(sensor)) stopWaiting(state);
  }

  /** The sensor does not answer just now: what waits for its time is counted anew, and one that reports by event is lost. */
  sensorFailed(sensor: string): void {
    for (const state of this.#statesOf(sensor)) {
      stopWaiting(state);
      if (state.config.isByEvent) this.#lose(state);
    }
  }

  /** Nothing moves and nothing is learned from here on. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const state of this.#states.values()) end(state);
  }

  #begin(config: RuleInForce): RuleState {
    const state: RuleState = { config, seenAtMs: 0, partsInARow: 0, cancelWaiting: undefined, cancelLost: () => {} };
    this.#seen(state);
    return state;
  }

  #seen(state: RuleState): void {
    const { clock } = this.#deps;
    state.seenAtMs = clock.monotonicMs();
    state.cancelLost();
    if (!state.config.enabled || !Number.isFinite(lostAtMs(state))) return;
    const lose = (): void => {
      const leftMs = lostAtMs(state) - clock.monotonicMs();
      if (leftMs >= 0) state.cancelLost = clock.after(leftMs + 1, lose);
      else this.#lose(state);
    };
    state.cancelLost = clock.after(lostAtMs(state) - state.seenAtMs + 1, lose);
  }

  #lose(state: RuleState): void {
    stopWaiting(state);
    void this.#deps.control.find(state.config.set.actuator)?.take({ kind: 'sensorLost', rule: state.config.name });
  }

  #statesOf(sensor: string): readonly RuleState[] {
    return [...this.#states.values()].filter(({ config: { when, enabled } }) => enabled && when.sensor === sensor);
  }

  #judge(state: RuleState, value: JsonValue): void {
    const { clock } = this.#deps;
    const { when } = state.config;
    const phase = this.#phase(state);
    if (!conditionHolds(state.config, value, phase === 'set')) {
      stopWaiting(state);
      this.#tell(state, false);
    } else if (phase === 'set' || when.forMs === 0) this.#tell(state, true);
    else {
      // What has not held for its time does not hold.
      this.#tell(state, false);
      state.cancelWaiting ??= clock.after(when.forMs, () => {
        state.cancelWaiting = undefined;
        if (clock.monotonicMs() <= lostAtMs(state)) this.#tell(state, true);
      });
    }
  }

  #phase({ config: { name, set } }: RuleState): RuleSlot['phase'] | undefined {
    return this.#deps.control.find(set.actuator)?.slots.rules.find((rule) => rule.name === name)?.phase;
  }

  #tell({ config: { name, set } }: RuleState, holds: boolean): void {
    void this.#deps.control.find(set.actuator)?.take({ kind: 'read', rule: name, holds });
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

/** When the sensor is lost, ms since boot. */
function lostAtMs({ seenAtMs, config }: RuleState): number {
  return seenAtMs + config.sensorLostAfterMs;
}

function stopWaiting(state: RuleState): void {
  state.cancelWaiting?.();
  state.cancelWaiting = undefined;
}

function end(state: RuleState): void {
  stopWaiting(state);
  state.cancelLost();
}
