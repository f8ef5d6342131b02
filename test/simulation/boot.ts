/** One boot of the board: its own time begins with it. */
import type { Timeline } from './timeline.ts';

export class Boot {
  /** Monotonic time as a boot begins. */
  static readonly MONOTONIC_BEGINS_MS = 1_000;
  readonly bootId: string;
  /** In the world's time. */
  readonly bootedAtMs: number;

  constructor(timeline: Timeline, bootId: string) {
    this.bootId = bootId;
    this.bootedAtMs = timeline.nowMs;
  }

  /** Returns its clock's time at that time of the world. */
  monotonicAt(atMs: number): number {
    return Boot.MONOTONIC_BEGINS_MS + atMs - this.bootedAtMs;
  }

  /** When it showed that, in the world's time. */
  trueTimeOf(monotonicMs: number): number {
    return this.bootedAtMs + monotonicMs - Boot.MONOTONIC_BEGINS_MS;
  }
}
