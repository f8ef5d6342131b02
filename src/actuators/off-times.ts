/** Switches off at the end of a pulse and of the longest time on, whoever switched on, and however often it was told to stay on. */
import { type ActuatorValue, offValue } from './actuator.ts';
import type { ActuatorControlDeps } from './actuator-control.ts';
import type { ActuatorSlot } from './actuator-slot.ts';
import type { SafeStates } from './safe-states.ts';

export interface OffTimesDeps extends Pick<ActuatorControlDeps, 'clock' | 'memory'> {
  readonly safeStates: SafeStates;
}

export class OffTimes {
  readonly #deps: OffTimesDeps;
  readonly #armed = new Map<ActuatorSlot, { readonly dueMs: number; readonly cancel: () => void }>();

  constructor(deps: OffTimesDeps) {
    this.#deps = deps;
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    const off = offValue(slot.settings);
    // Where off is wanted and refused, it is being tried again already.
    const dueMs = slot.record.refusesOff ? undefined : slot.record.offDueMs;
    const armed = this.#armed.get(slot);
    if (armed?.dueMs === dueMs) return;
    armed?.cancel();
    this.#armed.delete(slot);
    if (off !== undefined && dueMs !== undefined) this.#arm(slot, off, dueMs);
  }

  /** Idempotent. */
  close(): void {
    for (const { cancel } of this.#armed.values()) cancel();
    this.#armed.clear();
  }

  #arm(slot: ActuatorSlot, off: ActuatorValue, dueMs: number): void {
    const { clock } = this.#deps;
    const expire = (): void => {
      this.#armed.delete(slot);
      // A timer may be shorter than what was asked for.
      if (clock.monotonicMs() < dueMs) this.#arm(slot, off, dueMs);
      else this.#switchOff(slot, off);
    };
    this.#armed.set(slot, { dueMs, cancel: clock.after(dueMs - clock.monotonicMs(), expire) });
  }

  #switchOff(slot: ActuatorSlot, value: ActuatorValue): void {
    const { memory, safeStates } = this.#deps;
    const { pulsing, by } = slot.record.state;
    if (pulsing) return void safeStates.set(slot, value, 'end of a pulse', by);
    // It is not to begin again because a gateway restarts, nor by the rule that had switched it on.
    memory.wished(slot.record, value);
    // Behind a mute bus, or before this boot, nobody knows for how long: a rule goes on trying once it is known to be off.
    if (slot.record.wasOn) slot.record.overrulings += 1;
    void safeStates.set(slot, value, 'longest time on');
  }
}
