/** Last value that a rule goes by, of a sensor or of the clock, until the next one is overdue: then it is lost. */

import type { Truth } from '../config/keys/condition-truth.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../values/json.ts';

export interface WatchedValueDeps {
  readonly clock: Clock;
  /** How long after its last value it is lost; infinite where only its driver says so. */
  readonly lostAfterMs: number;
  readonly onLost: () => void;
}

/** So many values in a row that do not come are no noise: what the value was meanwhile nobody knows. */
export const MISSED_VALUES = 3;

export class WatchedValue {
  readonly #deps: WatchedValueDeps;
  #said: boolean | undefined;
  #value: JsonValue | undefined;
  #heardAtMs: number;
  #lostAtMs = 0;
  /** How many values that say nothing have come since one that does. */
  #partsInARow = 0;
  #cancel = (): void => {};

  constructor(deps: WatchedValueDeps) {
    this.#deps = deps;
    this.#heardAtMs = deps.clock.monotonicMs();
    this.#wait();
  }

  /** The last value that said something; undefined where that counts no longer. */
  get value(): JsonValue | undefined {
    return this.isLost ? undefined : this.#value;
  }

  get isLost(): boolean {
    return this.#deps.clock.monotonicMs() > this.#lostAtMs;
  }

  get truth(): Truth {
    return this.isLost ? 'lost' : (this.#said ?? 'unread');
  }

  /** A value has come; undefined when it says nothing. */
  heard(says: boolean | undefined, value?: JsonValue): void {
    this.#partsInARow = says === undefined ? this.#partsInARow + 1 : 0;
    if (this.#partsInARow >= MISSED_VALUES) return;
    this.#said = says ?? (this.isLost ? undefined : this.#said);
    this.#value = value ?? (this.isLost ? undefined : this.#value);
    this.#heardAtMs = this.#deps.clock.monotonicMs();
    this.#wait();
  }

  /** Goes on where another one was, whose value says this of a changed condition. */
  follow(before: WatchedValue, says: boolean | undefined): void {
    this.#said = says;
    this.#value = before.value;
    this.#partsInARow = before.#partsInARow;
    this.#heardAtMs = before.#heardAtMs;
    if (before.#lostAtMs === Number.NEGATIVE_INFINITY) this.lose();
    else this.#wait();
  }

  /** Another sensor has its name: what was said says nothing. */
  forget(): void {
    this.#said = undefined;
    this.#value = undefined;
  }

  /** Its driver says so. */
  lose(): void {
    this.#cancel();
    this.#lostAtMs = Number.NEGATIVE_INFINITY;
    this.#deps.onLost();
  }

  /** Idempotent. */
  end(): void {
    this.#cancel();
  }

  #wait(): void {
    const { clock, lostAfterMs, onLost } = this.#deps;
    this.#cancel();
    this.#lostAtMs = this.#heardAtMs + lostAfterMs;
    if (!Number.isFinite(lostAfterMs)) return;
    const look = (): void => {
      const leftMs = this.#lostAtMs - clock.monotonicMs();
      if (leftMs >= 0) this.#cancel = clock.after(leftMs + 1, look);
      else onLost();
    };
    this.#cancel = clock.after(Math.max(0, this.#lostAtMs - clock.monotonicMs()) + 1, look);
  }
}
