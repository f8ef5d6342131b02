/** A limit on requests per device and second, off by default as on a stock server. */
import type { Clock } from '../host/clock.ts';

const WINDOW_MS = 1000;

export class RateLimit {
  /** Requests per device and second; undefined: no limit. */
  perSecond: number | undefined;
  readonly #clock: Clock;
  readonly #windows = new Map<string, { startMs: number; count: number }>();

  constructor(options: { readonly clock: Clock; readonly perSecond?: number }) {
    this.#clock = options.clock;
    this.perSecond = options.perSecond;
  }

  admits(deviceId: string): boolean {
    if (this.perSecond === undefined) return true;
    const nowMs = this.#clock.monotonicMs();
    let window = this.#windows.get(deviceId);
    if (window === undefined || nowMs - window.startMs >= WINDOW_MS) {
      window = { startMs: nowMs, count: 0 };
      this.#windows.set(deviceId, window);
    }
    window.count += 1;
    return window.count <= this.perSecond;
  }
}
