/**
 * When a sensor is read: at whole multiples of its period, since its first read or, where it is aligned, of UTC. A wall clock may step while it is
 * waited for, by hours at the boot of a board that has none of its own: it is looked at every few seconds, and its time as it is then counts.
 */
import type { Clock } from '../host/clock.ts';

/** A clock that nobody has set yet is looked at so often. */
const LOOK_AGAIN_MS = 10_000;
/** Timers count whole milliseconds and may fire a little early; without this a read could come twice for one point of the grid. */
const EARLY_MS = 2;
/** A clock that steps past a point by no more than this makes its read late; by more, there is none. */
const LATE_MS = 500;

export class ReadGrid {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #anchorMs: number | undefined;
  /** Points before count as read: when the clock goes back by little, the last one comes again. */
  #readUntilMs = Number.NEGATIVE_INFINITY;

  /** @param anchorMs one of its points, ms since boot; undefined for whole multiples of UTC. */
  constructor(clock: Clock, periodMs: number, anchorMs?: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#anchorMs = anchorMs;
  }

  /** When to look: at the first point past `sinceMs`, or before, as the clock may step. All times are ms since boot. */
  lookAtMs(sinceMs: number): number {
    const offsetMs = this.#offsetMs();
    const dueMs = nextDue(sinceMs + offsetMs, this.#periodMs) - offsetMs;
    const againMs = this.#anchorMs === undefined ? Math.max(sinceMs, this.#clock.monotonicMs()) + LOOK_AGAIN_MS : dueMs;
    return againMs < dueMs - EARLY_MS ? againMs : dueMs;
  }

  /** True when that time, which has come, is a point that is to be read; it then counts as read. */
  isDue(atMs: number): boolean {
    const pointMs = this.#lastPointMs(atMs);
    if (pointMs < Math.max(atMs - LATE_MS, this.#readUntilMs)) return false;
    this.#readUntilMs = pointMs + this.#periodMs / 2;
    return true;
  }

  /** The point between these two times that a step of the clock went past, if there is one. */
  passedMs(sinceMs: number, atMs: number): number | undefined {
    const pointMs = this.#lastPointMs(atMs);
    return pointMs > Math.max(sinceMs + EARLY_MS, this.#readUntilMs) ? pointMs : undefined;
  }

  #lastPointMs(atMs: number): number {
    const offsetMs = this.#offsetMs();
    return Math.floor((atMs + EARLY_MS + offsetMs) / this.#periodMs) * this.#periodMs - offsetMs;
  }

  /** From time since boot to that whose whole multiples of the period are the grid. */
  #offsetMs(): number {
    return this.#anchorMs === undefined ? this.#clock.wallMs() - this.#clock.monotonicMs() : -this.#anchorMs;
  }
}

/** The next whole multiple of the period, past now. */
function nextDue(nowMs: number, periodMs: number): number {
  const next = (Math.floor(nowMs / periodMs) + 1) * periodMs;
  return next - nowMs <= EARLY_MS ? next + periodMs : next;
}
