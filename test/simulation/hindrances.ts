/** Times in which something cannot be done: nobody could have switched (no agent, no pins), or nothing could be kept (no disk). */
import type { Timeline } from './timeline.ts';

export class Hindrances {
  readonly #timeline: Timeline;
  readonly #times: { readonly fromMs: number; untilMs: number }[] = [];

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** From now on, until the returned function is called. */
  begin(): () => void {
    const time = { fromMs: this.#timeline.nowMs, untilMs: Number.POSITIVE_INFINITY };
    this.#times.push(time);
    return () => {
      time.untilMs = Math.min(time.untilMs, this.#timeline.nowMs);
    };
  }

  /** How much of that time, each moment once, ms. */
  within(fromMs: number, untilMs: number): number {
    let sum = 0;
    let reached = fromMs;
    for (const one of this.#times.toSorted((a, b) => a.fromMs - b.fromMs)) {
      const from = Math.max(reached, one.fromMs);
      const until = Math.min(untilMs, one.untilMs);
      if (until > from) sum += until - from;
      reached = Math.max(reached, until);
    }
    return sum;
  }
}
