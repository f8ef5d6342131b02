/**
 * Upkeep of an output while nobody moves it: hardware that people change is asked every so often, and hardware that forgets is written again.
 *
 *   readEvery   since the last question ─► refresh
 *   repeatEvery since the last write    ─► what is in force, past the gates, as no switch
 */
import type { Clock } from '../host/clock.ts';
import type { ActuatorSlot } from './actuator-slot.ts';

export interface OutputUpkeepDeps {
  readonly slot: ActuatorSlot;
  readonly clock: Clock;
  /** Writes what is in force again; does nothing where nothing is, or where it waits. */
  readonly repeat: () => void;
}

export class OutputUpkeep {
  readonly #deps: OutputUpkeepDeps;
  readonly #ending = new AbortController();
  /** Time of the last repetition, also of one that was not made. */
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #dueMs: number | undefined;
  #cancelRepeat = (): void => {};
  #cancelRead = (): void => {};
  #isBegun = false;

  constructor(deps: OutputUpkeepDeps) {
    this.#deps = deps;
  }

  /** Idempotent. */
  begin(): void {
    if (this.#isBegun || this.#ending.signal.aborted) return;
    this.#isBegun = true;
    this.#readLater();
    this.update();
  }

  /** To be told of every change: a write puts the next one off. */
  update(): void {
    const { clock, slot } = this.#deps;
    const { repeatEveryMs } = slot.settings;
    const { lastBegun, lastBegunAtMs } = slot.record;
    if (repeatEveryMs === undefined || lastBegun === undefined || !this.#isBegun || this.#ending.signal.aborted) return;
    const dueMs = Math.max(lastBegunAtMs, this.#triedAtMs) + repeatEveryMs;
    if (dueMs === this.#dueMs) return;
    this.#dueMs = dueMs;
    this.#cancelRepeat();
    this.#cancelRepeat = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#repeat());
  }

  /** Nothing is read or written from here on. Idempotent. */
  end(): void {
    this.#ending.abort();
    this.#cancelRepeat();
    this.#cancelRead();
  }

  #repeat(): void {
    this.#triedAtMs = this.#deps.clock.monotonicMs();
    this.#deps.repeat();
    this.update();
  }

  #readLater(): void {
    const { clock, slot } = this.#deps;
    const { readEveryMs } = slot.settings;
    if (readEveryMs === undefined || !slot.readable || this.#ending.signal.aborted) return;
    this.#cancelRead = clock.after(readEveryMs, () => void this.#read());
  }

  async #read(): Promise<void> {
    const { slot } = this.#deps;
    if (!slot.isMoving && slot.unknownBecause === undefined) await slot.refresh(this.#ending.signal);
    this.#readLater();
  }
}
