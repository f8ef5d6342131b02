/**
 * How much to ask for at once. A slow or bad line gets the configured chunk, which is what a cut costs at most; a fast one gets up to
 * sixteen of them in one request, so that round trips do not count. Sizes are doublings, and offsets their multiples: the server knows
 * only an index. Whatever the request was, whole configured chunks of it are kept.
 */
import type { Clock } from '../host/clock.ts';

/** An answer that came within this time may grow: 1 MB in it is 32 Mbit/s. */
const FAST_MS = 250;
const MAX_CHUNKS = 16;
const MAX_BYTES = 16 * 1024 * 1024;

export class ChunkSize {
  readonly #baseBytes: number;
  readonly #clock: Clock;
  #allowedBytes: number;
  #askedMs = 0;
  /** What the last request asked for. */
  askedBytes: number;

  constructor(baseBytes: number, clock: Clock) {
    this.#baseBytes = baseBytes;
    this.#allowedBytes = baseBytes;
    this.askedBytes = baseBytes;
    this.#clock = clock;
  }

  /** The size to ask for at an offset, which is a multiple of the configured chunk. */
  next(offset: number): number {
    this.askedBytes = this.#allowedBytes;
    while (offset % this.askedBytes !== 0) this.askedBytes /= 2;
    this.#askedMs = this.#clock.monotonicMs();
    return this.askedBytes;
  }

  /** The answer came whole. */
  arrived(): void {
    const isFast = this.#clock.monotonicMs() - this.#askedMs < FAST_MS;
    const doubled = this.#allowedBytes * 2;
    if (!isFast) this.#allowedBytes = Math.max(this.#baseBytes, this.#allowedBytes / 2);
    else if (this.askedBytes === this.#allowedBytes && doubled <= Math.min(MAX_BYTES, MAX_CHUNKS * this.#baseBytes))
      this.#allowedBytes = doubled;
  }

  /** The answer was cut. */
  lost(): void {
    this.#allowedBytes = this.#baseBytes;
  }
}
