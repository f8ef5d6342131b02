/**
 * One boot of the board: its own time begins with it, and goes on while the board is suspended. Then nothing reaches the agent, and its timers
 * are late.
 */
import type { Timeline } from './timeline.ts';

interface Sleep {
  readonly fromMs: number;
  readonly untilMs: number;
}

export class Boot {
  /** Monotonic time as a boot begins. */
  static readonly MONOTONIC_BEGINS_MS = 1_000;
  readonly bootId: string;
  /** In the world's time. */
  readonly bootedAtMs: number;
  readonly sleeps: Sleep[] = [];
  readonly #timeline: Timeline;
  #waking: Promise<void> | undefined;

  constructor(timeline: Timeline, bootId: string) {
    this.#timeline = timeline;
    this.bootId = bootId;
    this.bootedAtMs = timeline.nowMs;
  }

  get isAsleep(): boolean {
    return this.#waking !== undefined;
  }

  /** Resolves at once while it is awake. */
  async awake(): Promise<void> {
    while (this.#waking !== undefined) await this.#waking;
  }

  /** Resolves when it is awake again. */
  sleep(ms: number): Promise<void> {
    const { nowMs } = this.#timeline;
    this.sleeps.push({ fromMs: nowMs, untilMs: nowMs + ms });
    this.#waking = this.#timeline.wait(ms).then(() => {
      this.#waking = undefined;
    });
    return this.#waking;
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
