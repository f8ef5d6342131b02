/**
 * Sets the states for a stop, and keeps at every off that the hardware has refused until it is taken or somebody wants something else: it is
 * tried again every two seconds, or as soon as the try before ran out of time, with an alarm standing.
 */
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { ActuatorSlot, Movement } from './actuator-slot.ts';
import type { ActuatorControlDeps } from './control-deps.ts';
import { type ActuatorValue, isActive, offValue, type Writer } from './kind/actuator.ts';

export interface SafeState {
  readonly slot: ActuatorSlot;
  readonly value: ActuatorValue;
}

export interface SafeStatesDeps extends Required<Pick<ActuatorControlDeps, 'clock' | 'log' | 'onAlarm'>> {
  /** Moves under the interlocks. */
  readonly move: (slot: ActuatorSlot, movement: Movement) => Promise<void>;
}

interface Owed {
  readonly value: ActuatorValue;
  readonly by: Writer;
  tries: number;
  /** When the last of them was begun. */
  triedAtMs: number;
  quietUntilMs: number;
  quietForMs: number;
  cancel: (() => void) | undefined;
}

/** How long a stop waits for one of them. */
const WAITED_FOR_MS = 3_000;
/** A bus that was busy for a moment is free soon; hardware that was not there comes back later. */
const FIRST_AGAIN_AFTER_MS = 100;
const AGAIN_AFTER_MS = 2_000;
/** A turn comes within a fraction of this, unless a disk hangs: what is to be off waits for no disk. */
const MAX_PATIENCE_MS = 1_000;
/** The log tells of what lasts at growing intervals. */
const FIRST_QUIET_MS = 60_000;
const MAX_QUIET_MS = 3_600_000;

export class SafeStates {
  readonly #deps: SafeStatesDeps;
  readonly #owed = new Map<ActuatorSlot, Owed>();
  #isClosed = false;

  constructor(deps: SafeStatesDeps) {
    this.#deps = deps;
  }

  /** Sets the states of a stop, each once: first what is switched off, then what is switched on, in their order. Never rejects. */
  async setAll(states: readonly SafeState[]): Promise<void> {
    const isOff = ({ value }: SafeState): boolean => !isActive(value);
    await Promise.all(states.filter(isOff).map((one) => this.#setOnce(one)));
    await Promise.all(states.filter((one) => !isOff(one)).map((one) => this.#setOnce(one)));
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    const { record } = slot;
    const { desired, by = 'safe-state', fault = 'its state is not known' } = record.state;
    if (slot.isMoving || this.#isClosed) return;
    if (!record.refusesOff || desired === undefined || this.#owed.get(slot)?.value !== desired) this.#end(slot);
    if (!record.refusesOff || desired === undefined) return;
    const owed = this.#owed.get(slot) ?? this.#owe(slot, desired, by);
    if (owed.cancel === undefined) this.#failed(slot, owed, fault);
  }

  /** Nothing is tried again from here on. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const slot of [...this.#owed.keys()]) this.#end(slot);
  }

  async #setOnce({ slot, value }: SafeState): Promise<void> {
    const { clock, log, move } = this.#deps;
    const actuator = slot.settings.name;
    const moving = move(slot, { value, by: 'safe-state', urgent: true }).then(
      () => log.info({ actuator, value, occasion: 'stop' }, 'safe state set'),
      (error: unknown) =>
        log.warn({ actuator, value, occasion: 'stop', error: messageOf(error) }, 'an actuator did not take its safe state'),
    );
    await endedWithin(clock, WAITED_FOR_MS, moving);
  }

  #failed(slot: ActuatorSlot, owed: Owed, reason: string): void {
    const { clock, onAlarm } = this.#deps;
    const { name } = slot.settings;
    if (this.#owed.get(slot) !== owed) return;
    owed.tries += 1;
    if (owed.tries === 1) onAlarm(name, `${name} does not switch off: ${reason}`);
    this.#say(name, owed, reason);
    const everyMs = Math.min(AGAIN_AFTER_MS, FIRST_AGAIN_AFTER_MS * 2 ** (owed.tries - 1));
    // A try that ran into its deadline has waited already.
    const inMs = Math.max(FIRST_AGAIN_AFTER_MS, owed.triedAtMs + everyMs - clock.monotonicMs());
    owed.cancel = clock.after(inMs, () => this.#tryAgain(slot, owed, MAX_PATIENCE_MS));
  }

  /** Whoever has asked since, and only waits for their turn, has the last word: what is merely repeated does not go before that. */
  #tryAgain(slot: ActuatorSlot, owed: Owed, patienceMs: number): void {
    const { clock, move } = this.#deps;
    const { record } = slot;
    owed.cancel = undefined;
    const isOvertaken = isActive(record.claimed ?? false);
    if (!record.refusesOff) {
      this.#end(slot);
      return;
    }
    if (isOvertaken && patienceMs > 0) {
      owed.cancel = clock.after(FIRST_AGAIN_AFTER_MS, () => this.#tryAgain(slot, owed, patienceMs - FIRST_AGAIN_AFTER_MS));
      return;
    }
    owed.triedAtMs = clock.monotonicMs();
    const { value, by } = owed;
    void move(slot, { value, by, urgent: true, repeats: true }).catch((error: unknown) => {
      // Who went first has taken its place.
      if (!hasCode(error, 'actuators/overridden') && owed.cancel === undefined) this.#failed(slot, owed, messageOf(error));
    });
  }

  #say(actuator: string, owed: Owed, reason: string): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < owed.quietUntilMs) return;
    owed.quietForMs = Math.min(MAX_QUIET_MS, owed.quietForMs * 2);
    owed.quietUntilMs = nowMs + owed.quietForMs;
    this.#deps.log.warn({ actuator, value: owed.value, tries: owed.tries, error: reason }, 'an actuator does not switch off');
  }

  #owe(slot: ActuatorSlot, value: ActuatorValue, by: Writer): Owed {
    const quiet = { quietUntilMs: Number.NEGATIVE_INFINITY, quietForMs: FIRST_QUIET_MS / 2 };
    const owed: Owed = { ...{ value, by, tries: 0, triedAtMs: this.#deps.clock.monotonicMs(), cancel: undefined }, ...quiet };
    this.#owed.set(slot, owed);
    return owed;
  }

  #end(slot: ActuatorSlot): void {
    const owed = this.#owed.get(slot);
    owed?.cancel?.();
    this.#owed.delete(slot);
    if (owed !== undefined) this.#deps.onAlarm(slot.settings.name, undefined);
  }
}

/** Returns what is declared for a stop; off for what does not take it yet, and for what only this process would have switched off later. */
export function stopValue(slot: ActuatorSlot): readonly SafeState[] {
  const { settings, record } = slot;
  const owed = record.refusesOff ? record.state.desired : record.mark === undefined ? undefined : offValue(settings);
  const value = settings.safe.stop ?? owed;
  return value === undefined ? [] : [{ slot, value }];
}
