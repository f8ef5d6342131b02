/**
 * Gives every value of a key a timestamp of its own: the later one is moved on, by 1 ms at a time, before it is written, so that a retry carries
 * the same time. What counts is the ms since boot and, as far as it is known, the wall time that the platform will see: after the clock was set
 * back, the same timestamps come again.
 */
import type { TimeStretch } from './boot-offsets.ts';
import type { BootTimes } from './boot-times.ts';
import { TakenInstants } from './taken-instants.ts';

export class EntrySpacing {
  readonly #boots: Pick<BootTimes, 'stretchAt'> | undefined;
  /** Ms since boot of values that have the gateway's time. */
  readonly #sinceBoot = new TakenInstants();
  /** UTC epoch ms of all values whose time is known. */
  readonly #wallMs = new TakenInstants();
  #stretch: TimeStretch | undefined;

  constructor(boots?: Pick<BootTimes, 'stretchAt'>) {
    this.#boots = boots;
  }

  /** Begins a run of values: what is known of their times may have changed. */
  begin(): void {
    this.#stretch = undefined;
  }

  /** Returns the free ms since boot for a value of a boot. */
  place(name: string, bootId: string, ms: number): number {
    let free = ms;
    let offsetMs: number | undefined;
    for (;;) {
      const sinceBootMs = this.#sinceBoot.freeFrom(name, free);
      offsetMs = this.#offsetAt(bootId, sinceBootMs);
      const next = offsetMs === undefined ? sinceBootMs : this.#wallMs.freeFrom(name, sinceBootMs + offsetMs) - offsetMs;
      if (next === free) break;
      free = next;
    }
    this.takeSinceBoot(name, free);
    if (offsetMs !== undefined) this.takeWallMs(name, free + offsetMs);
    return free;
  }

  /** UTC epoch ms of a value that brings its own. */
  placeOwn(name: string, wallMs: number): number {
    const free = this.#wallMs.freeFrom(name, wallMs);
    this.takeWallMs(name, free);
    return free;
  }

  /** A value was written with this time. */
  takeSinceBoot(name: string, ms: number): void {
    this.#sinceBoot.take(name, ms);
  }

  takeWallMs(name: string, wallMs: number): void {
    this.#wallMs.take(name, wallMs);
  }

  #offsetAt(bootId: string, ms: number): number | undefined {
    const known = this.#stretch;
    if (known === undefined || ms < known.fromMs || ms >= known.untilMs) this.#stretch = this.#boots?.stretchAt(bootId, ms);
    return this.#stretch?.offsetMs;
  }
}
