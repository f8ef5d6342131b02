/**
 * Sets the states for a stop, and keeps at every off that the hardware has refused until it is taken or somebody wants something else: it is
 * tried again every two seconds, or as soon as the try before ran out of time, with an alarm standing.
 */
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { english, sentence } from '../names/sentences.ts';
import type { ActuatorSlot, Movement } from './actuator-slot.ts';
import type { ActuatorControlDeps } from './control-deps.ts';
import { type ActuatorValue, isActive, offValue } from './kind/actuator.ts';

export interface SafeState {
  readonly slot: ActuatorSlot;
  readonly value: ActuatorValue;
}

export interface SafeStatesDeps extends Required<Pick<ActuatorControlDeps, 'clock' | 'log' | 'onAlarm'>> {
  /** Moves under the interlocks. */
  readonly move: (slot: ActuatorSlot, movement: Movement) => Promise<void>;
}

/** An off that the hardware has refused. */
interface Owed {
  tries: number;
  /** When the last of them was begun. */
  triedAtMs: number;
  cancel: (() => void) | undefined;
}

/** How long a stop waits for one of them. */
const WAITED_FOR_MS = 3_000;
/** A bus that was busy for a moment is free soon; hardware that was not there comes back later. */
const FIRST_AGAIN_AFTER_MS = 100;
const AGAIN_AFTER_MS = 2_000;
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
    const { clock, log, onAlarm } = this.#deps;
    const { record } = slot;
    const { name } = slot.settings;
    if (slot.isMoving || slot.hasTakenOff || this.#isClosed) return;
    if (!record.refusesOff) this.#end(slot);
    const owed = this.#owed.get(slot) ?? { tries: 0, triedAtMs: clock.monotonicMs(), cancel: undefined };
    if (!record.refusesOff || owed.cancel !== undefined) return;
    if (owed.tries === 0) {
      const { desired, fault } = record.state;
      onAlarm(name, sentence('doesNotSwitchOff', { output: name, why: fault ?? sentence('stateNotKnown') }));
      log.warn(
        { actuator: name, value: desired, error: fault ?? english(sentence('stateNotKnown')) },
        'an actuator does not switch off',
      );
    }
    const everyMs = Math.min(AGAIN_AFTER_MS, FIRST_AGAIN_AFTER_MS * 2 ** owed.tries);
    // A try that ran into its deadline has waited already.
    const inMs = Math.max(FIRST_AGAIN_AFTER_MS, owed.triedAtMs + everyMs - clock.monotonicMs());
    owed.tries += 1;
    owed.cancel = clock.after(inMs, () => this.#tryAgain(slot, owed));
    this.#owed.set(slot, owed);
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
        log.warn(
          { actuator, value, occasion: 'stop', error: messageOf(error) },
          'an actuator did not take its safe state',
        ),
    );
    await endedWithin(clock, WAITED_FOR_MS, moving);
  }

  /** Its end, taken or not, is told to `update`. Whoever has asked for on since, and only waits for their turn, goes first. */
  #tryAgain(slot: ActuatorSlot, owed: Owed): void {
    const { clock, move } = this.#deps;
    const { record } = slot;
    const { desired, by = 'safe-state' } = record.state;
    owed.cancel = undefined;
    owed.triedAtMs = clock.monotonicMs();
    if (!record.refusesOff || desired === undefined) this.#end(slot);
    else if (isActive(record.claimed ?? false))
      owed.cancel = clock.after(FIRST_AGAIN_AFTER_MS, () => this.#tryAgain(slot, owed));
    else void move(slot, { value: desired, by, urgent: true, repeats: true }).catch(() => {});
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
