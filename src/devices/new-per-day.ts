/** Devices that take another's place in a slot: as many in a day as there are slots, as a bus that gives nonsense would make them without end. */
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { KeptNames } from './kept-names.ts';

export interface NewPerDayDeps {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
}

/** Swaps in a day where there are fewer slots. */
const LEAST = 5;

const DAY_MS = 86_400_000;

export class NewPerDay {
  readonly #deps: NewPerDayDeps;
  /** Slots whose new device waits for the next day. */
  readonly #waiting = new Set<string>();
  #replaced: NonNullable<KeptNames['replaced']>;

  constructor(deps: NewPerDayDeps, before: KeptNames['replaced']) {
    this.#deps = deps;
    this.#replaced = before ?? { dayMs: 0, count: 0 };
  }

  /** Counts, to be kept. */
  get replaced(): NonNullable<KeptNames['replaced']> {
    return this.#replaced;
  }

  waits(slot: string): boolean {
    return this.#waiting.has(slot);
  }

  /** The device of a slot is known: none waits. */
  settle(slot: string): void {
    this.#waiting.delete(slot);
  }

  /** Counts one when it may come today: as many may as there are slots, and at least five. */
  mayReplace(slot: string, slots: number): boolean {
    const { clock, log } = this.#deps;
    const dayMs = Math.floor(clock.wallMs() / DAY_MS) * DAY_MS;
    const count = this.#replaced.dayMs === dayMs ? this.#replaced.count : 0;
    if (count >= Math.max(LEAST, slots)) {
      if (!this.#waiting.has(slot)) log.error({ slot }, 'too many new devices today: this one waits until tomorrow');
      this.#waiting.add(slot);
      return false;
    }
    this.#replaced = { dayMs, count: count + 1 };
    return true;
  }
}
