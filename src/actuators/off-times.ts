/** Tells an output when its pulse or its longest time on has ended, whoever switched on, and however often it was told to stay on. */

import type { ActuatorControlDeps } from './control-deps.ts';
import { offValue } from './kind/actuator.ts';
import type { Output } from './output.ts';

export class OffTimes {
  readonly #clock: ActuatorControlDeps['clock'];
  readonly #armed = new Map<Output, { readonly dueMs: number; readonly cancel: () => void }>();

  constructor(clock: ActuatorControlDeps['clock']) {
    this.#clock = clock;
  }

  /** To be told of every change. */
  update(output: Output): void {
    const { record } = output.slot;
    // Where off is wanted and refused, it is being tried again already.
    const dueMs = record.refusesOff || offValue(output.settings) === undefined ? undefined : record.offDueMs;
    const armed = this.#armed.get(output);
    if (armed?.dueMs === dueMs) return;
    armed?.cancel();
    this.#armed.delete(output);
    if (dueMs !== undefined) this.#arm(output, dueMs);
  }

  /** Idempotent. */
  close(): void {
    for (const { cancel } of this.#armed.values()) cancel();
    this.#armed.clear();
  }

  #arm(output: Output, dueMs: number): void {
    const expire = (): void => {
      this.#armed.delete(output);
      // A timer may be shorter than what was asked for.
      if (this.#clock.monotonicMs() < dueMs) this.#arm(output, dueMs);
      else void output.take({ kind: output.slot.record.state.pulsing ? 'pulseEnded' : 'maxOnEnded' });
    };
    this.#armed.set(output, { dueMs, cancel: this.#clock.after(dueMs - this.#clock.monotonicMs(), expire) });
  }
}
