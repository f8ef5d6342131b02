/** Exponential backoff with jitter, 10 to 100 % of its bound: a thousand gateways that lost one platform do not come back in the same second. */
import type { Clock } from './clock.ts';

export interface BackoffSettings {
  /** Upper bound of the first delay, ms. */
  readonly firstMs: number;
  /** Upper bound of every later delay, ms. */
  readonly maxMs: number;
}

/** Delays never fall below this share of their bound, so that a run of small draws is no busy loop. */
const MIN_SHARE = 0.1;
/** A server tells all who wait the same Retry-After: up to this share of it is added, so that they do not come back together either. */
const ADDED_SHARE = 0.25;

export class Backoff {
  readonly #settings: BackoffSettings;
  readonly #clock: Pick<Clock, 'jitter'>;
  #attempts = 0;

  constructor(settings: BackoffSettings, clock: Pick<Clock, 'jitter'>) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** How many delays were drawn since the last success. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The next delay in ms; `atLeastMs` honours a server's Retry-After. */
  nextMs(atLeastMs = 0): number {
    const { firstMs, maxMs } = this.#settings;
    const boundMs = Math.min(maxMs, firstMs * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    const draw = this.#clock.jitter();
    return Math.max(atLeastMs * (1 + ADDED_SHARE * draw), boundMs * (MIN_SHARE + (1 - MIN_SHARE) * draw));
  }

  /** To be called after every success. */
  reset(): void {
    this.#attempts = 0;
  }
}
