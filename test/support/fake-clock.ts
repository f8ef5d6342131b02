/** A clock that moves only when told; timers fire in order of their time, and their promises settle before `advance` resolves. */
import type { Clock } from '../../src/host/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

const MAX_AT_ONCE = 10_000;

export class FakeClock implements Clock {
  bootId: string;
  #monotonicMs: number;
  #wallOffsetMs: number;
  readonly #timers = new Set<Timer>();
  /** Returns the value of every draw. */
  jitter: () => number;

  constructor(
    options: {
      readonly bootId?: string;
      readonly monotonicMs?: number;
      readonly wallMs?: number;
      readonly jitter?: number;
    } = {},
  ) {
    const { jitter = 0.5 } = options;
    this.jitter = () => jitter;
    this.bootId = options.bootId ?? 'boot-1';
    this.#monotonicMs = options.monotonicMs ?? 10_000;
    this.#wallOffsetMs = (options.wallMs ?? 1_780_000_000_000) - this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return Math.round(this.#monotonicMs + this.#wallOffsetMs);
  }

  /** Steps the wall clock without moving monotonic time. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** A new boot: another boot id, monotonic time starts again, timers are gone. */
  reboot(options: { readonly bootId: string; readonly monotonicMs?: number; readonly wallMs?: number }): void {
    this.bootId = options.bootId;
    const wallMs = options.wallMs ?? this.wallMs();
    this.#monotonicMs = options.monotonicMs ?? 1_000;
    this.#wallOffsetMs = wallMs - this.#monotonicMs;
    this.#timers.clear();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = this.after(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      const stop = (): void => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { atMs: this.#monotonicMs + Math.max(ms, 0), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time on, firing each timer at its own time. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    for (let atOnce = 0; ; atOnce += 1) {
      if (atOnce > MAX_AT_ONCE) throw new Error('timers that are due at once go on for ever');
      await settle();
      const next = [...this.#timers].sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers.delete(next);
      if (next.atMs > this.#monotonicMs) atOnce = 0;
      this.#monotonicMs = Math.max(this.#monotonicMs, next.atMs);
      next.callback();
    }
    this.#monotonicMs = untilMs;
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
