/**
 * How long one exchange with a service may take: a time that starts again when something came of use, and an end that nothing puts off. Bytes
 * alone put nothing off: a service that drips would hold whoever waits for as long as it likes.
 */

import { AnalyticsError } from '../../errors/analytics-error.ts';
import type { Clock } from '../../host/clock.ts';

/** The longest that a report may go on arriving: a month of rows each second, over a slow line. */
const MAX_MS = 6 * 3_600_000;

export class ExchangeDeadline {
  /** Ends with the caller's own, or in time. */
  readonly signal: AbortSignal;
  readonly #clock: Clock;
  readonly #withinMs: number;
  readonly #endsAtMs: number;
  readonly #late = new AbortController();
  #cancel: () => void = () => {};

  /** Runs at once. */
  constructor(clock: Clock, withinMs: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#withinMs = withinMs;
    this.#endsAtMs = clock.monotonicMs() + Math.max(withinMs, MAX_MS);
    this.signal = AbortSignal.any([signal, this.#late.signal]);
    this.putOff();
  }

  putOff(): void {
    this.end();
    const leftMs = Math.max(0, Math.min(this.#withinMs, this.#endsAtMs - this.#clock.monotonicMs()));
    this.#cancel = this.#clock.after(leftMs, () =>
      this.#late.abort(new AnalyticsError('unreachable', 'the answer was not complete in time')),
    );
  }

  /** Runs no more, until it is put off again. Idempotent. */
  end(): void {
    this.#cancel();
  }
}
