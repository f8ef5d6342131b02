/** Switches off what has been on for its longest time, whoever switched it on, and however often it was told to stay on. */
import type { Clock } from '../host/clock.ts';
import { type ActuatorValue, isActive, offValue } from './actuator.ts';
import type { ActuatorSlot } from './actuator-slot.ts';

export interface LongestOnDeps {
  readonly clock: Clock;
  readonly switchOff: (slot: ActuatorSlot, value: ActuatorValue) => void;
}

export class LongestOn {
  readonly #deps: LongestOnDeps;
  readonly #cancels = new Map<ActuatorSlot, () => void>();

  constructor(deps: LongestOnDeps) {
    this.#deps = deps;
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    const { longestOnMs } = slot.settings.limits;
    const off = offValue(slot.settings);
    if (longestOnMs === undefined || off === undefined) return;
    const { value } = slot.state;
    if (value === undefined || !isActive(value)) this.#cancel(slot);
    else if (!this.#cancels.has(slot)) {
      const expire = (): void => {
        this.#cancels.delete(slot);
        this.#deps.switchOff(slot, off);
      };
      this.#cancels.set(slot, this.#deps.clock.after(longestOnMs, expire));
    }
  }

  /** Idempotent. */
  close(): void {
    for (const slot of [...this.#cancels.keys()]) this.#cancel(slot);
  }

  #cancel(slot: ActuatorSlot): void {
    this.#cancels.get(slot)?.();
    this.#cancels.delete(slot);
  }
}
