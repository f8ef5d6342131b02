/**
 * Sets safe states, and keeps at it until the hardware has taken them or someone else writes. Whoever else asked for off and was refused by
 * the hardware is taken over from: an output that does not switch off is tried again every two seconds, or as soon as the try before ran out
 * of time, with an alarm standing.
 */
import { hasCode, messageOf } from '../errors.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { type ActuatorValue, isActive, type Writer } from './actuator.ts';
import type { ActuatorControlDeps } from './actuator-control.ts';
import type { ActuatorSlot, Movement } from './actuator-slot.ts';
import type { Excluder } from './gates.ts';
import type { PinRecord } from './pin-record.ts';

export interface SafeState {
  readonly slot: ActuatorSlot;
  readonly value: ActuatorValue;
}

export interface SafeStatesDeps extends Required<Pick<ActuatorControlDeps, 'clock' | 'log' | 'onAlarm'>> {
  /** Moves under the interlocks. */
  readonly move: (slot: ActuatorSlot, movement: Movement) => Promise<void>;
  /** Whichever keeps a pin from being activated. */
  readonly excluderOf: (pin: PinRecord) => Excluder | undefined;
}

interface Owed {
  readonly value: ActuatorValue;
  readonly by: Writer;
  readonly occasion: string;
  /** Of the record when it was tried last: another number is someone else's write. */
  writes: number;
  tries: number;
  /** When the last of them was begun. */
  triedAtMs: number;
  quietUntilMs: number;
  quietForMs: number;
  /** What was on and excludes it, when it was to be switched on. */
  heldBackBy: Excluder | undefined;
  cancel: (() => void) | undefined;
}

/** An occasion that ends: with the platform being heard. */
export const NO_CONTACT = 'no contact';

/** How long a start or a stop waits for one of them; it goes on being tried afterwards. */
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
  /** How many of a record's writes were the end of a pulse: nobody has asked for anything then. */
  readonly #pulseEnds = new Map<ActuatorSlot, number>();
  #closed = false;

  constructor(deps: SafeStatesDeps) {
    this.#deps = deps;
  }

  /**
   * First what is switched off, then what is switched on, in their order: of two that exclude each other the first goes on; and what was held
   * back by one of those switched off at the same occasion. With a signal, nothing is switched on any more once it is aborted, nor what
   * somebody has written while the others were switched off. Never rejects.
   */
  async setAll(states: readonly SafeState[], occasion: string, signal?: AbortSignal): Promise<void> {
    const off = states.filter(({ value }) => !isActive(value));
    const on = [...states.filter(({ value }) => isActive(value)), ...this.#heldBackBy(off, occasion)];
    const before = new Map(on.map(({ slot }) => [slot, this.#writesOfOthers(slot)]));
    await Promise.all(off.map(({ slot, value }) => this.set(slot, value, occasion)));
    const isLeft = ({ slot }: SafeState): boolean =>
      signal !== undefined && (signal.aborted || this.#writesOfOthers(slot) !== before.get(slot));
    await Promise.all(on.filter((one) => !isLeft(one)).map(({ slot, value }) => this.set(slot, value, occasion)));
  }

  /** Resolves when the hardware has taken it, or has failed to for now; never rejects. `occasion` is for the log. */
  async set(slot: ActuatorSlot, value: ActuatorValue, occasion: string, by: Writer = 'safe-state'): Promise<void> {
    const { writes } = slot.record;
    const tried = this.#try(slot, this.#owe(slot, value, { occasion, by }));
    if (by !== 'safe-state') this.#pulseEnds.set(slot, (this.#pulseEnds.get(slot) ?? 0) + slot.record.writes - writes);
    await tried;
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    const { record } = slot;
    const { desired, by = 'safe-state', fault = 'its state is not known' } = record.state;
    if (slot.isMoving) return;
    const known = this.#owed.get(slot);
    const isOwed =
      known !== undefined && (isActive(known.value) ? known.tries === 0 || known.writes === record.writes : known.value === desired);
    if (!isOwed || (!isActive(known.value) && !record.refusesOff)) this.#end(slot);
    if (!record.refusesOff || desired === undefined) return;
    const owed = isOwed ? known : this.#owe(slot, desired, { occasion: 'switching off', by });
    if (owed.cancel === undefined) this.#failed(slot, owed, fault);
  }

  /** The silence is over: what was held back in it is not switched on by the next. */
  endSilence(): void {
    for (const owed of this.#owed.values()) if (owed.occasion === NO_CONTACT) owed.heldBackBy = undefined;
  }

  /** Nothing is tried again from here on; what is set once more is tried once. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const slot of [...this.#owed.keys()]) this.#end(slot);
  }

  #writesOfOthers(slot: ActuatorSlot): number {
    return slot.record.writes - (this.#pulseEnds.get(slot) ?? 0);
  }

  #heldBackBy(off: readonly SafeState[], occasion: string): SafeState[] {
    const records: ReadonlySet<Excluder> = new Set(off.map(({ slot }) => slot.record).filter(isOnForSure));
    return [...this.#owed].flatMap(([slot, { occasion: own, heldBackBy, value }]) =>
      own === occasion && heldBackBy !== undefined && records.has(heldBackBy) ? [{ slot, value }] : [],
    );
  }

  async #try(slot: ActuatorSlot, owed: Owed): Promise<void> {
    const { clock, log, move } = this.#deps;
    const { value, by, occasion } = owed;
    const actuator = slot.settings.name;
    owed.triedAtMs = clock.monotonicMs();
    const moving = move(slot, { value, by, urgent: true, repeats: owed.tries > 0 }).then(
      () => {
        if (by === 'safe-state') log.info({ actuator, value, occasion }, 'safe state set');
        if (this.#owed.get(slot) === owed) this.#end(slot);
      },
      (error: unknown) => {
        // What refuses to be switched off is seen at the change; who went first has taken its place.
        if (isActive(value) && !hasCode(error, 'actuators/overridden')) this.#failed(slot, owed, messageOf(error));
      },
    );
    await endedWithin(clock, WAITED_FOR_MS, moving);
  }

  #failed(slot: ActuatorSlot, owed: Owed, reason: string): void {
    const { clock, excluderOf, onAlarm } = this.#deps;
    const { name } = slot.settings;
    const isOn = isActive(owed.value);
    if (this.#owed.get(slot) !== owed) return;
    owed.tries += 1;
    owed.writes = slot.record.writes;
    if (owed.tries === 1)
      onAlarm(name, `${name} ${isOn ? `has not taken its safe state for ${owed.occasion}` : 'does not switch off'}: ${reason}`);
    if (isOn) slot.record.blame(reason);
    this.#say(name, owed, reason);
    const excluder = isOn ? excluderOf(slot.record) : undefined;
    owed.heldBackBy = excluder !== undefined && isOnForSure(excluder) ? excluder : undefined;
    // Nothing begins to run by itself an hour later, because somebody switched off what kept it from running.
    if (this.#closed || owed.heldBackBy !== undefined) return;
    const everyMs = isOn ? AGAIN_AFTER_MS : Math.min(AGAIN_AFTER_MS, FIRST_AGAIN_AFTER_MS * 2 ** (owed.tries - 1));
    // A try that ran into its deadline has waited already.
    const inMs = Math.max(FIRST_AGAIN_AFTER_MS, owed.triedAtMs + everyMs - clock.monotonicMs());
    owed.cancel = clock.after(inMs, () => this.#tryAgain(slot, owed, MAX_PATIENCE_MS));
  }

  /** Whoever has asked since, and only waits for their turn, has the last word: what is merely repeated does not go before that. */
  #tryAgain(slot: ActuatorSlot, owed: Owed, patienceMs: number): void {
    const { record } = slot;
    owed.cancel = undefined;
    const isOvertaken = record.isClaimed && record.expected !== undefined && isActive(record.expected);
    if (isActive(owed.value) ? record.writes !== owed.writes : !record.refusesOff) this.#end(slot);
    else if (!isOvertaken || patienceMs <= 0) void this.#try(slot, owed);
    else {
      const leftMs = patienceMs - FIRST_AGAIN_AFTER_MS;
      owed.cancel = this.#deps.clock.after(FIRST_AGAIN_AFTER_MS, () => this.#tryAgain(slot, owed, leftMs));
    }
  }

  #say(actuator: string, owed: Owed, reason: string): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < owed.quietUntilMs) return;
    owed.quietForMs = Math.min(MAX_QUIET_MS, owed.quietForMs * 2);
    owed.quietUntilMs = nowMs + owed.quietForMs;
    const { value, occasion, tries } = owed;
    this.#deps.log.warn({ actuator, value, occasion, tries, error: reason }, 'an actuator did not take its safe state');
  }

  #owe(slot: ActuatorSlot, value: ActuatorValue, why: Pick<Owed, 'occasion' | 'by'>): Owed {
    this.#end(slot);
    const owed: Owed = {
      ...{ ...why, value, writes: slot.record.writes, tries: 0, triedAtMs: this.#deps.clock.monotonicMs() },
      ...{ heldBackBy: undefined, cancel: undefined },
      ...{ quietUntilMs: Number.NEGATIVE_INFINITY, quietForMs: FIRST_QUIET_MS / 2 },
    };
    this.#owed.set(slot, owed);
    return owed;
  }

  #end(slot: ActuatorSlot): void {
    const owed = this.#owed.get(slot);
    owed?.cancel?.();
    this.#owed.delete(slot);
    if (owed !== undefined && owed.tries > 0) this.#deps.onAlarm(slot.settings.name, undefined);
  }
}

function isOnForSure({ value, refusesOff }: Excluder): boolean {
  return value !== undefined && isActive(value) && !refusesOff;
}
