/**
 * Gives every value of a key a timestamp of its own: the later one is moved on, by 1 ms at a time, before it is written, so that a retry carries
 * the same time. What counts is the wall time that the platform will see, as far as it is known: after the clock was set back, the same timestamps
 * come again. It cannot tell apart: values whose time is not known yet, from those of other boots and those that bring their own time; values
 * whose time is corrected before they are given out; and timestamps that TakenInstants has evicted.
 */
import type { TimeStretch } from './boot-offsets.ts';
import type { BootTimes } from './boot-times.ts';
import { TakenInstants } from './taken-instants.ts';

export class EntrySpacing {
  readonly #boots: Pick<BootTimes, 'stretchAt'> | undefined;
  /** Ms since boot of values that have the gateway's time. */
  readonly #sinceBoot = new TakenInstants();
  /** UTC epoch ms of all others. */
  readonly #ofOthers = new TakenInstants();
  #stretches: readonly TimeStretch[] = [];

  constructor(boots?: Pick<BootTimes, 'stretchAt'>) {
    this.#boots = boots;
  }

  /** Begins a run of values of this boot, with what is known of its times now. */
  begin(bootId: string): void {
    const stretches: TimeStretch[] = [];
    let fromMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      const stretch = this.#boots?.stretchAt(bootId, fromMs);
      if (stretch !== undefined) stretches.push(stretch);
      if (stretch === undefined || !(stretch.untilMs > fromMs) || stretch.untilMs === Number.POSITIVE_INFINITY) break;
      fromMs = stretch.untilMs;
    }
    this.#stretches = stretches;
  }

  /** Returns the free ms since boot for a value of this one. */
  place(name: string, ms: number): number {
    let free = ms;
    for (;;) {
      let next = this.#sinceBoot.freeFrom(name, free);
      const own = this.#stretches.find((stretch) => holds(stretch, next));
      if (own !== undefined) next = this.#freeWallMs(name, next + own.offsetMs, own) - own.offsetMs;
      if (next === free) break;
      free = next;
    }
    this.#sinceBoot.take(name, free);
    return free;
  }

  /** UTC epoch ms of a value that brings its own. */
  placeOwn(name: string, wallMs: number): number {
    let free = wallMs;
    for (let next = this.#freeWallMs(name, free); next !== free; next = this.#freeWallMs(name, free)) free = next;
    this.#ofOthers.take(name, free);
    return free;
  }

  /** An earlier process wrote a value with this time. */
  takeSinceBoot(name: string, ms: number): void {
    this.#sinceBoot.take(name, ms);
  }

  takeWallMs(name: string, wallMs: number): void {
    this.#ofOthers.take(name, wallMs);
  }

  /** A later ms, perhaps not free either, when something has this one; `apart` was looked at by the caller. */
  #freeWallMs(name: string, wallMs: number, apart?: TimeStretch): number {
    let free = this.#ofOthers.freeFrom(name, wallMs);
    for (const stretch of this.#stretches) {
      const ms = free - stretch.offsetMs;
      if (stretch !== apart && holds(stretch, ms))
        free = Math.min(this.#sinceBoot.freeFrom(name, ms), stretch.untilMs) + stretch.offsetMs;
    }
    return free;
  }
}

function holds({ fromMs, untilMs }: TimeStretch, ms: number): boolean {
  return fromMs <= ms && ms < untilMs;
}
