/** Devices that take another's place in a slot: so many in a day, as a bus that gives nonsense would make them without end. */
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../host/log.ts';
import type { KeptNames } from './kept-names.ts';

export interface NewPerDayDeps {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
  /** Most in a day. */
  readonly newPerDay: () => number;
}

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

  /** Counts one when it may come today. */
  mayReplace(slot: string): boolean {
    const { clock, log, newPerDay } = this.#deps;
    const dayMs = Math.floor(clock.wallMs() / DAY_MS) * DAY_MS;
    const count = this.#replaced.dayMs === dayMs ? this.#replaced.count : 0;
    if (count >= newPerDay()) {
      if (!this.#waiting.has(slot))
        log.error({ slot }, 'too many new devices today: this one waits (provisioning.newPerDay)');
      this.#waiting.add(slot);
      return false;
    }
    this.#replaced = { dayMs, count: count + 1 };
    return true;
  }
}
