/** Watches whether a kind of poll stands: one that a server holds, and does not end at once. */
import type { Clock } from '../host/clock.ts';
import type { PollBeat } from '../platform/poll-beat.ts';

/** A server that fails ends a poll sooner. */
const STANDS_AFTER_MS = 3_000;

export class PollWatch {
  /** Beat that goes on to the one that is watched. */
  readonly beat: PollBeat;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Beginning of the poll that is under way. */
  #beganAtMs: number | undefined;
  /** Newest time at which one stood. */
  #stoodAtMs = Number.NEGATIVE_INFINITY;

  constructor(beat: PollBeat, clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.beat = {
      meet: (signal) => beat.meet(signal),
      untilOtherMs: () => beat.untilOtherMs(),
      began: (timeoutMs) => {
        this.#beganAtMs = clock.monotonicMs();
        beat.began(timeoutMs);
      },
      ended: () => {
        this.#note();
        this.#beganAtMs = undefined;
        beat.ended();
      },
    };
  }

  /** True once a poll has stood after that time: one that stands since before goes on, as a reload ends none. */
  hasStoodSince(sinceMs: number): boolean {
    this.#note();
    return this.#stoodAtMs > sinceMs;
  }

  #note(): void {
    const began = this.#beganAtMs;
    const nowMs = this.#clock.monotonicMs();
    if (began !== undefined && nowMs - began >= STANDS_AFTER_MS) this.#stoodAtMs = nowMs;
  }
}
