/**
 * Notices that the platform has not been heard for as long as actuators may be left alone, once per silence, and of those that are due all at
 * once. Half way into a silence, and once more, it has the platform asked: an idle link is not a lost one.
 *
 *   heard ─ half, three quarters of the shortest time → onQuiet ─ its time → safe state
 *                                                                   └ a local rule holds it → when the rule is over, or sees nothing for that time
 *
 * Whatever a local rule sets after its turn is held in the same way.
 */
import type { ActuatorControlDeps } from './actuator-control.ts';
import type { ActuatorMemory } from './actuator-memory.ts';
import type { ActuatorSlot } from './actuator-slot.ts';
import { NO_CONTACT, type SafeState, type SafeStates } from './safe-states.ts';

export interface NoContactDeps extends Pick<ActuatorControlDeps, 'clock'> {
  readonly slots: readonly ActuatorSlot[];
  /** Told when a slot's time has come, and whenever the platform is heard. */
  readonly memory: Pick<ActuatorMemory, 'silence'>;
  readonly safeStates: Pick<SafeStates, 'setAll' | 'endSilence'>;
}

/** Who needs no platform to know what an actuator is to be. */
export interface Holder {
  /** Until when it knows, as of now, that the actuator is to be as it is; undefined when it does not hold it, or somebody else has written since. */
  heldAtMs(actuator: string): number | undefined;
  /** The actuator gets its safe state now. */
  displaced(actuator: string): void;
}

interface Watched extends SafeState {
  readonly afterMs: number;
  /** Undefined when it has had its turn in this silence, and no rule has set it since. */
  cancel: (() => void) | undefined;
  /** Its time has come in this silence, and it is held: how often it had been overruled until then. */
  heldOverSince: number | undefined;
}

/** The second in case the first is lost on the way. */
const ASKED_AT = [0.5, 0.75] as const;

export class ContactWatch {
  readonly #deps: NoContactDeps;
  readonly #watched: readonly Watched[];
  readonly #listeners = new Set<() => void>();
  readonly #holders: Holder[] = [];
  #heardAtMs: number;
  #silence = new AbortController();
  #cancelQuiet: (() => void) | undefined;
  #closed = false;

  /** Silence is counted from the start, so that a gateway which never reaches its platform is safe too. */
  constructor(deps: NoContactDeps) {
    this.#deps = deps;
    this.#heardAtMs = deps.clock.monotonicMs();
    this.#watched = deps.slots.flatMap((slot) => {
      const { noContact } = slot.settings.safe;
      return noContact === undefined ? [] : [{ slot, ...noContact, cancel: undefined, heldOverSince: undefined }];
    });
    for (const one of this.#watched) this.#arm(one, one.afterMs);
  }

  /** The platform was heard just now. */
  heard(): void {
    if (this.#closed) return;
    this.#heardAtMs = this.#deps.clock.monotonicMs();
    this.#silence.abort();
    this.#silence = new AbortController();
    this.#deps.safeStates.endSilence();
    for (const one of this.#watched) {
      this.#deps.memory.silence(one.slot.settings, false);
      one.heldOverSince = undefined;
      if (one.cancel === undefined) this.#arm(one, one.afterMs);
    }
    this.#armQuiet();
  }

  /** Calls back when the platform should be asked whether it is there, until the returned function is called. */
  onQuiet(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#armQuiet();
    return () => this.#listeners.delete(listener);
  }

  /** What it holds is left alone. */
  heed(holder: Holder): void {
    this.#holders.push(holder);
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    for (const one of this.#watched) {
      if (this.#closed || one.slot !== slot || one.cancel !== undefined || slot.record.state.by !== 'rule') continue;
      if (this.#heldAtMs(one) === undefined) continue;
      one.heldOverSince = slot.record.overrulings;
      this.#arm(one, one.afterMs);
    }
  }

  /** Whoever held the actuator has ended; `isSet`: it has said what the actuator is to be. */
  released(actuator: string, { isSet }: { readonly isSet: boolean }): void {
    for (const one of this.#watched) {
      if (one.slot.settings.name !== actuator || one.heldOverSince === undefined) continue;
      const isTaken = isSet || this.#isTakenOver(one);
      one.heldOverSince = undefined;
      if (isTaken) this.#disarm(one);
      else if (one.cancel !== undefined) this.#setDue();
    }
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    this.#silence.abort();
    this.#cancelQuiet?.();
    for (const one of this.#watched) this.#disarm(one);
  }

  #arm(one: Watched, inMs: number): void {
    one.cancel?.();
    one.cancel = this.#deps.clock.after(inMs, () => {
      const leftMs = this.#leftMs(one.afterMs);
      if (leftMs > 0) this.#arm(one, leftMs);
      else this.#setDue();
    });
  }

  #disarm(one: Watched): void {
    one.cancel?.();
    one.cancel = undefined;
  }

  #setDue(): void {
    const due = this.#watched.filter((one) => one.cancel !== undefined && this.#leftMs(one.afterMs) <= 0 && !this.#isLeft(one));
    for (const one of due) {
      this.#disarm(one);
      this.#deps.memory.silence(one.slot.settings, true);
      for (const holder of this.#holders) holder.displaced(one.slot.settings.name);
    }
    if (due.length > 0) void this.#deps.safeStates.setAll(due, NO_CONTACT, this.#silence.signal);
  }

  #isLeft(one: Watched): boolean {
    const heldAtMs = this.#heldAtMs(one);
    if (one.heldOverSince !== undefined && (heldAtMs === undefined || this.#isTakenOver(one))) {
      this.#disarm(one);
      return true;
    }
    const leftMs = (heldAtMs ?? Number.NEGATIVE_INFINITY) + one.afterMs - this.#deps.clock.monotonicMs();
    if (leftMs <= 0) return false;
    one.heldOverSince ??= one.slot.record.overrulings;
    this.#arm(one, leftMs);
    return true;
  }

  /** By somebody at the machine, in the middle of the silence. */
  #isTakenOver({ slot, heldOverSince }: Watched): boolean {
    return heldOverSince !== undefined && slot.record.overrulings !== heldOverSince;
  }

  #heldAtMs({ slot }: Watched): number | undefined {
    const held = this.#holders.flatMap((holder) => holder.heldAtMs(slot.settings.name) ?? []);
    return held.length === 0 ? undefined : Math.max(...held);
  }

  #leftMs(afterMs: number): number {
    return this.#heardAtMs + afterMs - this.#deps.clock.monotonicMs();
  }

  #armQuiet(step = 0): void {
    const share = ASKED_AT[step];
    if (this.#cancelQuiet !== undefined || this.#watched.length === 0 || this.#listeners.size === 0 || share === undefined) return;
    const quietMs = Math.min(...this.#watched.map(({ afterMs }) => afterMs)) * share;
    this.#cancelQuiet = this.#deps.clock.after(Math.max(0, this.#leftMs(quietMs)), () => {
      this.#cancelQuiet = undefined;
      if (this.#leftMs(quietMs) > 0) return this.#armQuiet();
      for (const listener of this.#listeners) listener();
      this.#armQuiet(step + 1);
    });
  }
}
