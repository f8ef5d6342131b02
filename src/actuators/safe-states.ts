/** Sets safe states: past every gate, before everything under way, and again until the hardware has taken them or someone else writes. */
import { messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { ActuatorValue } from './actuator.ts';
import type { ActuatorSlot } from './actuator-slot.ts';

export interface SafeStateSetterDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the agent stops: what was not taken by then is left to the state for stop. */
  readonly closing: AbortSignal;
}

/** For one safe state. */
const DEADLINE_MS = 3_000;
/** Hardware that was not there comes back. */
const AGAIN_AFTER_MS = 2_000;

export class SafeStateSetter {
  readonly #deps: SafeStateSetterDeps;

  constructor(deps: SafeStateSetterDeps) {
    this.#deps = deps;
  }

  /** Resolves when the hardware has taken it, or has failed to for now; never rejects. `occasion` is for the log. */
  async set(slot: ActuatorSlot, value: ActuatorValue, occasion: string): Promise<void> {
    const { clock, log } = this.#deps;
    const actuator = slot.settings.name;
    const late = new AbortController();
    const cancel = clock.after(DEADLINE_MS, () => late.abort());
    // Whatever pulse there was, this is its end.
    slot.pulsing = false;
    try {
      await slot.move({ value, by: 'safe-state', urgent: true }, late.signal);
      log.info({ actuator, value, occasion }, 'safe state set');
    } catch (error) {
      log.warn({ actuator, occasion, error: messageOf(error) }, 'an actuator did not take its safe state');
      this.#setAgain(slot, value, occasion);
    } finally {
      cancel();
    }
  }

  #setAgain(slot: ActuatorSlot, value: ActuatorValue, occasion: string): void {
    const { clock, closing } = this.#deps;
    const { movements } = slot;
    void clock.sleep(AGAIN_AFTER_MS, closing).then(async () => {
      if (!closing.aborted && slot.movements === movements) await this.set(slot, value, occasion);
    });
  }
}
