/**
 * How soon a lane sends its next post after one that was accepted. Behind a limit of values a second the rate is learned: each full post that is
 * accepted raises it a little, each that meets the limit lowers it; a post has a third of a second's values. Posts that are small for another
 * reason are many for the same entries: each lane sends a bounded number of them, until it has done so for most of an hour. Alarms never wait.
 */
import type { Lane } from '../../outbox/outbox.ts';

/** In the long run: 40 a minute and lane, which a platform that is nearly at its limit can bear. */
const PIECE_EVERY_MS = 1_500;
/** So many may follow each other at once: what it takes to look for one bad entry among two thousand. */
const PIECES_AT_ONCE = 11;
/** 50 minutes at the pace. */
const PIECES_IN_A_ROW = 2_000;
/** A limit is met now and then, or nobody would know that it has risen: by so much the rate sinks then. */
const BACK_TO = 0.85;
/** And by so much it rises with a post, the more the longer the limit was not met. */
const RISE = 0.01;
const RISES_FASTER_AFTER = 8;
/** A limit may count by the second of its own clock: posts of nearly a second's values would leave the rest of it unused. */
const POSTS_A_SECOND = 3;

export class UploadPace {
  readonly #freeAtMs = new Map<Lane, number>();
  readonly #inARow = new Map<Lane, number>();
  /** Values a second; undefined while no limit is known. */
  #perSecond: number | undefined;
  #acceptedInARow = 0;

  get hasLimit(): boolean {
    return this.#perSecond !== undefined;
  }

  /** Rows of a post, of so many that are configured; when they are as many, the limit is gone. */
  within(maxEntries: number): number {
    if (this.#perSecond === undefined) return maxEntries;
    const rows = Math.max(1, Math.floor(this.#perSecond / POSTS_A_SECOND));
    if (rows >= maxEntries) this.#perSecond = undefined;
    return Math.min(rows, maxEntries);
  }

  /** Ms until the lane may send the next post, after one of so many values; `isPiece`: more of it would have gone. */
  after(
    lane: Lane,
    { values, isPiece, nowMs }: { readonly values: number; readonly isPiece: boolean; readonly nowMs: number },
  ): number {
    if (!isPiece) this.#inARow.delete(lane);
    if (lane === 'alarm') return 0;
    if (this.#perSecond !== undefined) return (values / this.#perSecond) * 1_000;
    return isPiece ? this.#afterPiece(lane, nowMs) : 0;
  }

  /** A post of so many values was accepted after more had met a limit. */
  limitFound(values: number): void {
    this.#perSecond ??= values;
  }

  /** A post of so many values was accepted. */
  accepted(values: number): void {
    if (this.#perSecond === undefined || values * POSTS_A_SECOND * 2 < this.#perSecond) return;
    this.#perSecond *= 1 + RISE * (1 + this.#acceptedInARow / RISES_FASTER_AFTER);
    this.#acceptedInARow += 1;
  }

  /** A post met the limit. */
  limited(): void {
    this.#acceptedInARow = 0;
    if (this.#perSecond !== undefined) this.#perSecond *= BACK_TO;
  }

  #afterPiece(lane: Lane, nowMs: number): number {
    const inARow = (this.#inARow.get(lane) ?? 0) + 1;
    this.#inARow.set(lane, inARow);
    if (inARow > PIECES_IN_A_ROW) return 0;
    const quietSinceMs = Math.max(
      this.#freeAtMs.get(lane) ?? Number.NEGATIVE_INFINITY,
      nowMs - PIECES_AT_ONCE * PIECE_EVERY_MS,
    );
    const freeAtMs = quietSinceMs + PIECE_EVERY_MS;
    this.#freeAtMs.set(lane, freeAtMs);
    return Math.max(0, freeAtMs - nowMs);
  }
}
