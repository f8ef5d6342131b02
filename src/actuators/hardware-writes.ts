/**
 * Writes to one pin's driver, and what becomes of those that nobody waits for any longer. A driver may go on after it was told to stop: until
 * it has settled, the claim stays on the record, and what comes late makes the value doubtful.
 */
import { AgentError, hasCode, messageOf } from '../errors/agent-error.ts';
import { endedWithin, outcomeWithin } from '../host/bounded-wait.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import type { ActuatorSlotDeps } from './actuator-slot.ts';
import type { Claim } from './claim.ts';
import { type ActuatorSettings, type ActuatorValue, inWords } from './kind/actuator.ts';
import type { LateWrites } from './late-writes.ts';

export interface HardwareWritesDeps extends Pick<ActuatorSlotDeps, 'record' | 'driver' | 'clock'> {
  readonly late: LateWrites;
  /** A left write has settled, or is forgotten: with what it has taken, or undefined when it may have moved the pin and nobody knows. */
  readonly onLate: (taken: ActuatorValue | undefined) => void;
}

/** How long a movement waits for the ones that were ended to let go of the hardware. */
const LETTING_GO_MS = 200;
/** A driver that has not settled by then never will. */
const MAX_LEFT_MS = 60_000;

interface Attempt {
  readonly claim: Claim;
  isSettled: boolean;
  /** There once nobody waits for it any longer. */
  forget: (() => void) | undefined;
}

export class HardwareWrites {
  /** How many were begun. */
  begun = 0;
  /** Value shown last since another was taken: that the hardware takes a value proves nothing until it moves to one. */
  stuckAt: ActuatorValue | undefined;
  #told: ActuatorValue | undefined;
  readonly #deps: HardwareWritesDeps;
  /** With the hardware, and not forgotten: what never settles does not add up. */
  readonly #unsettled = new Set<Attempt>();
  /** Claims that are with the hardware now. */
  #freed = Promise.withResolvers<void>();

  constructor(deps: HardwareWritesDeps) {
    this.#deps = deps;
  }

  /** Resolves when the hardware is free, or after a moment all the same. */
  async letGo(signal: AbortSignal): Promise<void> {
    if (this.#unsettled.size > 0) await endedWithin(this.#deps.clock, LETTING_GO_MS, this.#freed.promise, signal);
  }

  /** @throws AgentError `actuators/deadline-passed` or `actuators/given-up`, and the driver's own: whether it has moved is not known. */
  async write(claim: Claim, signal: AbortSignal): Promise<void> {
    const { record } = this.#deps;
    const attempt: Attempt = { claim, isSettled: false, forget: undefined };
    this.begun += 1;
    record.begin(claim);
    try {
      await this.#withinDeadline((driverSignal) => this.#tell(attempt, driverSignal), signal);
      this.#took(claim);
    } catch (error) {
      if (attempt.isSettled) record.lose(messageOf(error), claim);
      else this.#leave(attempt);
      throw error;
    }
  }

  /** @throws AgentError `actuators/deadline-passed`, `actuators/given-up` or `actuators/unreadable`, and the driver's own. */
  async read(signal: AbortSignal): Promise<ActuatorValue> {
    const { read } = this.#deps.driver;
    if (read === undefined)
      throw new AgentError('actuators/unreadable', 'the hardware cannot be asked', { recovery: 'drop' });
    const shown = await this.#withinDeadline((driverSignal) => read(driverSignal), signal);
    if (this.stuckAt !== undefined) this.stuckAt = shown === this.#told && shown !== this.stuckAt ? undefined : shown;
    return shown;
  }

  /** True for a value that may be taken and not done. */
  doubts(value: ActuatorValue): boolean {
    return this.stuckAt !== undefined && value !== this.stuckAt;
  }

  /** Waits no longer for writes that have not settled. Idempotent. */
  close(): void {
    for (const { forget } of this.#unsettled) forget?.();
  }

  #took(claim: Claim): void {
    const { record, late } = this.#deps;
    this.#told = claim.value;
    record.took(claim);
    late.taken(claim.value);
    if (late.fault !== undefined) record.doubt(late.fault);
    if (this.doubts(claim.value)) record.doubt(`did not move when it was set to ${inWords(claim.value)}`);
  }

  #tell(attempt: Attempt, signal: AbortSignal): Promise<void> {
    const work = (async (): Promise<void> => await this.#deps.driver.write(attempt.claim.value, signal))();
    this.#unsettled.add(attempt);
    work.then(
      () => this.#settled(attempt, true),
      (error: unknown) => {
        if (hasCode(error, 'hardware/outcome-unknown')) this.#deps.late.unanswered(attempt.claim.value);
        this.#settled(attempt, false);
      },
    );
    return work;
  }

  #leave(attempt: Attempt): void {
    const { clock, record, onLate } = this.#deps;
    attempt.forget = clock.after(MAX_LEFT_MS, () => {
      this.#free(attempt);
      record.release(attempt.claim);
      onLate(undefined);
    });
  }

  #free(attempt: Attempt): void {
    this.#unsettled.delete(attempt);
    if (this.#unsettled.size > 0) return;
    this.#freed.resolve();
    this.#freed = Promise.withResolvers();
  }

  #settled(attempt: Attempt, took: boolean): void {
    const { record, driver, onLate } = this.#deps;
    const { claim, forget } = attempt;
    attempt.isSettled = true;
    this.#free(attempt);
    if (forget === undefined) return;
    forget();
    const isDoubtful = !took || record.lastBegun !== claim;
    if (!isDoubtful) this.#took(claim);
    // Hardware that can be asked is not believed before: others act by it.
    if (isDoubtful || driver.read !== undefined)
      record.lose(`an earlier write ${took ? 'was taken' : 'failed'} late`, claim);
    onLate(isDoubtful ? undefined : claim.value);
  }

  #withinDeadline<T>(act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { name, deadlineMs } = this.#deps.record.settings;
    const late = (): never => {
      if (signal.aborted) throw givenUp(this.#deps.record.settings);
      throw toldError('actuators/deadline-passed', sentence('noAnswerWithin', { output: name, ms: deadlineMs }), {
        recovery: 'retry',
      });
    };
    return outcomeWithin(this.#deps.clock, deadlineMs, act, late, signal);
  }
}

export function givenUp({ name }: ActuatorSettings): AgentError {
  return new AgentError('actuators/given-up', `${name}: whoever asked has given up`, { recovery: 'drop' });
}
