/**
 * The clock of one boot of the board: monotonic time begins with it, wall time is as wrong as the world wants. With the end of the process it
 * stands still for good: nothing that waited on it goes on.
 */
import type { Clock } from '../../src/host/clock.ts';
import type { Boot } from './boot.ts';
import type { Timeline } from './timeline.ts';

/** A world's true time begins here, UTC epoch ms. */
export const WORLD_BEGINS_MS = Date.UTC(2026, 0, 1);

export class BoardClock implements Clock {
  readonly jitter: () => number;
  readonly #timeline: Timeline;
  readonly #boot: Boot;
  readonly #timers = new Set<() => void>();
  #isDead = false;
  /** Wall time minus true time, ms. */
  wrongByMs: number;

  constructor(
    timeline: Timeline,
    deps: { readonly boot: Boot; readonly wrongByMs?: number; readonly jitter: () => number },
  ) {
    this.#timeline = timeline;
    this.#boot = deps.boot;
    this.jitter = deps.jitter;
    this.wrongByMs = deps.wrongByMs ?? 0;
  }

  get bootId(): string {
    return this.#boot.bootId;
  }

  monotonicMs(): number {
    return this.#boot.monotonicAt(this.#timeline.nowMs);
  }

  wallMs(): number {
    return Math.floor(WORLD_BEGINS_MS + this.#timeline.nowMs + this.wrongByMs);
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const stop = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.after(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  after(ms: number, callback: () => void): () => void {
    if (this.#isDead) return () => {};
    // As Node's timers do: whole milliseconds, and at least one.
    const wholeMs = Math.max(1, Math.trunc(ms));
    let cancelTimer = (): void => {};
    const cancel = (): void => {
      this.#timers.delete(cancel);
      cancelTimer();
    };
    this.#timers.add(cancel);
    cancelTimer = this.#timeline.after(wholeMs, () => {
      this.#timers.delete(cancel);
      callback();
    });
    return cancel;
  }

  /** The process is gone: none of its timers fires any more. */
  kill(): void {
    this.#isDead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }
}
