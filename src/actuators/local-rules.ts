/**
 * Rules that need no platform: while a value is above, below or equal for a time, an actuator is set, through the same gates as everyone.
 *
 *   off ─ condition holds → waiting ─ for its time → on (set) ─ condition ends, with hysteresis → off (otherwise)
 *
 * A rule is about the present: what a gate forbids is tried again for as long as the condition holds.
 */
import type { RuleConfig } from '../config/agent-config.ts';
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { ActuatorValue } from './actuator.ts';
import type { ActuatorControl } from './actuator-control.ts';

/** What a rule has done, for telemetry. */
export interface RuleEvent {
  readonly rule: string;
  readonly on: boolean;
  /** Undefined when the actuator was set, or there was nothing to set. */
  readonly refusal?: string;
}

export interface LocalRulesDeps {
  readonly rules: readonly RuleConfig[];
  readonly actuators: Pick<ActuatorControl, 'set'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent: (event: RuleEvent) => void;
}

interface RuleState {
  config: RuleConfig;
  enabled: boolean;
  on: boolean;
  /** Ends the waiting for the condition's time. */
  cancelWaiting: (() => void) | undefined;
  /** Ends the trying again of a movement that was refused. */
  cancelRetry: (() => void) | undefined;
}

const AGAIN_AFTER_MS = 5_000;

export class LocalRules {
  readonly #deps: LocalRulesDeps;
  #states: ReadonlyMap<string, RuleState>;
  readonly #closing = new AbortController();

  constructor(deps: LocalRulesDeps) {
    this.#deps = deps;
    this.#states = new Map(deps.rules.map((config) => [config.name, newState(config)]));
  }

  /** Takes up changed rules; one whose name stays keeps what it has found out so far. */
  configure(rules: readonly RuleConfig[]): void {
    const before = this.#states;
    this.#states = new Map(
      rules.map((config) => {
        const known = before.get(config.name);
        return [config.name, known === undefined ? newState(config) : Object.assign(known, { config })];
      }),
    );
    for (const state of before.values()) if (this.#states.get(state.config.name) !== state) stopAll(state);
    for (const { name, enabled } of rules) this.enable(name, enabled);
  }

  /** A value of a sensor, under the key that the platform knows, after scaling. */
  take(sensor: string, key: string, value: JsonValue): void {
    for (const state of this.#states.values()) {
      const { when } = state.config;
      if (state.enabled && when.sensor === sensor && when.key === key) this.#judge(state, value);
    }
  }

  /** The sensor no longer answers: what waits for its time waits no longer; what is on stays on. */
  sensorLost(sensor: string): void {
    for (const state of this.#states.values()) if (state.config.when.sensor === sensor && !state.on) stopWaiting(state);
  }

  /** Switches a rule; undefined goes back to what is configured. A rule that is switched off moves nothing by that. */
  enable(name: string, enabled: boolean | undefined): void {
    const state = this.#states.get(name);
    if (state === undefined) return;
    state.enabled = enabled ?? state.config.enabled;
    if (state.enabled) return;
    stopAll(state);
    state.on = false;
  }

  isEnabled(name: string): boolean {
    return this.#states.get(name)?.enabled ?? false;
  }

  /** Idempotent. */
  close(): void {
    this.#closing.abort();
    for (const state of this.#states.values()) stopAll(state);
  }

  #judge(state: RuleState, value: JsonValue): void {
    const holds = conditionHolds(state.config, value, state.on);
    if (holds && !state.on && state.cancelWaiting === undefined) {
      const { forMs } = state.config.when;
      if (forMs === 0) this.#turn(state, true);
      else state.cancelWaiting = this.#deps.clock.after(forMs, () => this.#turn(state, true));
    } else if (!holds && state.on) this.#turn(state, false);
    else if (!holds) stopWaiting(state);
  }

  #turn(state: RuleState, on: boolean): void {
    stopAll(state);
    state.on = on;
    const { set, otherwise } = state.config;
    const value = on ? set.value : otherwise;
    if (value === undefined) this.#deps.onEvent({ rule: state.config.name, on });
    else void this.#move(state, value, undefined);
  }

  async #move(state: RuleState, value: ActuatorValue, refusedBefore: string | undefined): Promise<void> {
    const { name, set } = state.config;
    const { on } = state;
    let refusal: string | undefined;
    try {
      await this.#deps.actuators.set(set.actuator, value, { by: 'rule' }, this.#closing.signal);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      refusal = messageOf(error);
      const mayPass = error instanceof AgentError && (error.recovery === 'retry' || error.recovery === 'hold');
      const isStill = state.on === on && state.enabled && state.cancelRetry === undefined;
      if (mayPass && isStill) state.cancelRetry = this.#deps.clock.after(AGAIN_AFTER_MS, () => this.#moveAgain(state, value, refusal));
    }
    if (refusal !== undefined && refusal === refusedBefore) return;
    this.#deps.log.info({ rule: name, on, actuator: set.actuator, value, refusal }, 'rule');
    this.#deps.onEvent({ rule: name, on, ...(refusal === undefined ? {} : { refusal }) });
  }

  #moveAgain(state: RuleState, value: ActuatorValue, refusal: string | undefined): void {
    state.cancelRetry = undefined;
    void this.#move(state, value, refusal);
  }
}

function newState(config: RuleConfig): RuleState {
  return { config, enabled: config.enabled, on: false, cancelWaiting: undefined, cancelRetry: undefined };
}

function conditionHolds({ when }: RuleConfig, value: JsonValue, on: boolean): boolean {
  if (when.equal !== undefined) return value === when.equal;
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

function stopAll(state: RuleState): void {
  stopWaiting(state);
  state.cancelRetry?.();
  state.cancelRetry = undefined;
}
