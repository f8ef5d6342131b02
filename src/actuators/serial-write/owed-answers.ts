/**
 * Answers that a spoken command still owes: nobody waits for them any longer, and the next one that is heard may be such a one. It proves
 * nothing then, but for a command that says the same. Answers come in the order of what was said; they bear no number.
 */
import type { Clock } from '../../host/clock.ts';
import { type ActuatorValue, isActive } from '../kind/actuator.ts';

/** Time after which an answer no longer comes. */
const OWED_FOR_MS = 60_000;
/** Off that is refused is told again every two seconds. */
const MAX_OWED = 100;

export class OwedAnswers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #owed: readonly { readonly value: ActuatorValue; readonly untilMs: number }[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** The value was told, perhaps in part, and no answer is waited for any longer. */
  owe(value: ActuatorValue): void {
    this.#owed = [...this.#owed.slice(0, MAX_OWED - 1), { value, untilMs: this.#clock.monotonicMs() + OWED_FOR_MS }];
  }

  /** An answer was heard after the value was told: whether it says that the value was taken. */
  proves(value: ActuatorValue): boolean {
    const nowMs = this.#clock.monotonicMs();
    const owed = this.#owed.filter(({ untilMs }) => nowMs < untilMs);
    const isProof = owed.every((earlier) => earlier.value === value);
    // Off that was refused for long has many answers owed; taking one of them for that of a later "on" leaves nothing on.
    this.#owed = isProof && !isActive(value) ? [] : owed.slice(1);
    return isProof;
  }
}
