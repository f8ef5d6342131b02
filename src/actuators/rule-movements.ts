/** Moves actuators for rules, through everyone's gates. What one forbids is tried again while the rule wants it and nobody has said otherwise. */
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import type { Log } from '../host/log.ts';
import { type ActuatorState, type ActuatorValue, speaks } from './actuator.ts';
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
  readonly actuators: Pick<ActuatorControl, 'set' | 'states' | 'overrulings'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent: (event: RuleEvent) => void;
}

interface Attempt {
  readonly wish: RuleWish;
  /** Then it does not begin any more: what has begun goes on to its end. */
  readonly ended: AbortController;
  cancelRetry: (() => void) | undefined;
  /** Which gate refused it last: what it says may count the seconds. */
  refusedBy: string | undefined;
  /** Of the actuator when it was to be moved, or when a rule has written after somebody else. */
  overrulings: number;
}

const AGAIN_AFTER_MS = 5_000;

/** Undefined for an actuator that there is not, or no longer. */
export function stateOf(actuators: Pick<ActuatorControl, 'states'>, actuator: string): ActuatorState | undefined {
  return actuators.states().find(({ name }) => name === actuator);
}

export class RuleMovements {
  readonly #deps: RuleMovementsDeps;
  readonly #attempts = new Set<Attempt>();
  readonly #closing = new AbortController();

  constructor(deps: RuleMovementsDeps) {
    this.#deps = deps;
  }

  /** Takes the place of what the same rule wanted of the actuator before; a beginning that of what any other did. */
  move(wish: RuleWish): void {
    if (this.#closing.signal.aborted) return;
    for (const attempt of this.#attempts) {
      const { rule, actuator } = attempt.wish;
      if (actuator === wish.actuator && (rule === wish.rule || wish.on)) this.#end(attempt);
    }
    const overrulings = this.#deps.actuators.overrulings(wish.actuator);
    const attempt: Attempt = { wish, ended: new AbortController(), cancelRetry: undefined, refusedBy: undefined, overrulings };
    this.#attempts.add(attempt);
    void this.#try(attempt);
  }

  /** Whether what the rule wants of the actuator is under way, or is tried again. */
  isTrying({ rule, actuator }: Pick<RuleWish, 'rule' | 'actuator'>): boolean {
    return [...this.#attempts].some(({ wish }) => wish.rule === rule && wish.actuator === actuator);
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
      if (this.#isOverruled(attempt))
        throw new AgentError('actuators/overruled', `${actuator}: someone else has written since`, { recovery: 'drop' });
      await actuators.set(actuator, value, { by: 'rule' }, AbortSignal.any([this.#closing.signal, attempt.ended.signal]));
      if (!this.#attempts.has(attempt)) return;
    } catch (error) {
      // Something else is wanted by now, or the agent stops.
      if (!this.#attempts.has(attempt)) return;
      refusal = messageOf(error);
      attempt.refusedBy = error instanceof AgentError ? error.code : refusal;
      const isForNow = !(error instanceof AgentError) || error.recovery === 'retry' || error.recovery === 'hold';
      const mayPass = isForNow || this.#wasOnlyOvertaken(attempt, error);
      if (mayPass) attempt.cancelRetry = clock.after(AGAIN_AFTER_MS, () => void this.#try(attempt));
    }
    if (attempt.cancelRetry === undefined) this.#end(attempt);
    if (refusal !== undefined && attempt.refusedBy === refusedBefore) return;
    log.info({ rule, on, actuator, value, refusal }, 'rule');
    onEvent(given({ rule, on, refusal }));
  }

  #isOverruled(attempt: Attempt): boolean {
    const { actuator, value } = attempt.wish;
    const overrulings = this.#deps.actuators.overrulings(actuator);
    const { desired, by, pulsing } = stateOf(this.#deps.actuators, actuator) ?? {};
    // A try that failed half-way has been a write of ours, and who wants the same says nothing against it; a pulse wants nothing for long.
    if (by === 'rule' || (speaks(by) && pulsing !== true && desired === value)) attempt.overrulings = overrulings;
    return attempt.overrulings !== overrulings;
  }

  /** The end of a pulse went first, and says nothing against it. A safe state would be undone. */
  #wasOnlyOvertaken(attempt: Attempt, error: AgentError): boolean {
    const isSafe = stateOf(this.#deps.actuators, attempt.wish.actuator)?.by === 'safe-state';
    return error.code === 'actuators/overridden' && !isSafe && !this.#isOverruled(attempt);
  }

  #end(attempt: Attempt): void {
    attempt.cancelRetry?.();
    attempt.ended.abort();
    if (this.#attempts.delete(attempt)) attempt.wish.onDone?.();
  }
}
