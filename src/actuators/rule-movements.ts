/** Moves actuators for rules, through the same gates as everyone. What a gate forbids is tried again for as long as the rule wants it. */
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
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

export interface RuleWish {
  readonly rule: string;
  readonly actuator: string;
  /** Whether this is the rule's beginning or its end. */
  readonly on: boolean;
  readonly value: ActuatorValue;
  /** Awaited before the first try. */
  readonly after?: Promise<void>;
  /** Called once it is not tried again. */
  readonly onDone?: () => void;
}

export interface RuleMovementsDeps {
  readonly actuators: Pick<ActuatorControl, 'set'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent: (event: RuleEvent) => void;
}

interface Attempt {
  readonly wish: RuleWish;
  cancelRetry: (() => void) | undefined;
  /** Which gate refused it last: what it says may count the seconds. */
  refusedBy: string | undefined;
}

const AGAIN_AFTER_MS = 5_000;

export class RuleMovements {
  readonly #deps: RuleMovementsDeps;
  readonly #attempts = new Set<Attempt>();
  readonly #closing = new AbortController();

  constructor(deps: RuleMovementsDeps) {
    this.#deps = deps;
  }

  /** Takes the place of what the same rule wanted of the actuator before, and of the end of others that hold it no longer. */
  move(wish: RuleWish): void {
    if (this.#closing.signal.aborted) return;
    for (const attempt of this.#attempts) {
      const { rule, actuator, on } = attempt.wish;
      if (actuator === wish.actuator && (rule === wish.rule || (wish.on && !on))) this.#end(attempt);
    }
    const attempt: Attempt = { wish, cancelRetry: undefined, refusedBy: undefined };
    this.#attempts.add(attempt);
    void this.#try(attempt);
  }

  /** What the rule wants of the actuator is not tried again. */
  cancel(wish: Pick<RuleWish, 'rule' | 'actuator'>): void {
    for (const attempt of this.#attempts) {
      if (attempt.wish.rule === wish.rule && attempt.wish.actuator === wish.actuator) this.#end(attempt);
    }
  }

  /** What was not taken stays owed, and so does what comes from here on. Idempotent. */
  close(): void {
    this.#closing.abort();
    for (const attempt of this.#attempts) attempt.cancelRetry?.();
    this.#attempts.clear();
  }

  async #try(attempt: Attempt): Promise<void> {
    const { actuators, clock, log, onEvent } = this.#deps;
    const { rule, on, actuator, value, after } = attempt.wish;
    const refusedBefore = attempt.refusedBy;
    let refusal: string | undefined;
    attempt.refusedBy = undefined;
    attempt.cancelRetry = undefined;
    try {
      if (after !== undefined) await after;
      if (!this.#attempts.has(attempt)) return;
      await actuators.set(actuator, value, { by: 'rule' }, this.#closing.signal);
    } catch (error) {
      // Something else is wanted by now, or the agent stops.
      if (!this.#attempts.has(attempt)) return;
      refusal = messageOf(error);
      attempt.refusedBy = error instanceof AgentError ? error.code : refusal;
      const mayPass = !(error instanceof AgentError) || error.recovery === 'retry' || error.recovery === 'hold';
      if (mayPass) attempt.cancelRetry = clock.after(AGAIN_AFTER_MS, () => void this.#try(attempt));
    }
    if (attempt.cancelRetry === undefined) this.#end(attempt);
    if (refusal !== undefined && attempt.refusedBy === refusedBefore) return;
    log.info({ rule, on, actuator, value, refusal }, 'rule');
    onEvent({ rule, on, ...(refusal === undefined ? {} : { refusal }) });
  }

  #end(attempt: Attempt): void {
    attempt.cancelRetry?.();
    if (this.#attempts.delete(attempt)) attempt.wish.onDone?.();
  }
}
