/**
 * How soon the next post follows one that was accepted. Behind a limit, of posts or of values, the time between posts is learned, for all lanes
 * together: each post that is accepted shortens it a little, each that meets the limit lengthens it. Their size is learned apart (batch-size.ts):
 * full posts at a slow pace suit limits of either kind. Posts that are small for another reason are many for the same entries: each lane sends a
 * bounded number of them, until it has done so for most of an hour. Alarms never wait.
 */
import type { Lane } from '../../outbox/outbox.ts';

/** In the long run: 40 a minute and lane, which a platform that is nearly at its limit can bear. */
const PIECE_EVERY_MS = 1_500;
/** So many may follow each other at once: what it takes to look for one bad entry among two thousand. */
const PIECES_AT_ONCE = 11;
/** 50 minutes at the pace. */
const PIECES_IN_A_ROW = 2_000;
/** Pace at which a limit is looked for. */
const FIRST_EVERY_MS = 1_000;
const MAX_EVERY_MS = 60_000;
/** Distance of posts at which there is no limit any more. */
const NO_LIMIT_MS = 100;
/** A limit is met now and then, or nobody would know that it has risen: by so much the rate sinks then. */
const BACK_TO = 0.85;
/** So it sinks when fewer than so many were accepted since. */
const FAR_TOO_FAST = 0.7;
const FEW = 4;
/** And by so much it rises with a post, the more the longer the limit was not met. */
const RISE = 0.01;
const RISES_FASTER_AFTER = 8;
/** Where posts are rarer, each raises it by more: by its part of this time, within reason. */
const RISES_WITHIN_MS = 100_000;
const MAX_RISE = 0.03;

export class UploadPace {
  readonly #freeAtMs = new Map<Lane, number>();
  readonly #inARow = new Map<Lane, number>();
  /** Undefined while no limit is known. */
  #everyMs: number | undefined;
  /** Time between posts before a limit was met; undefined since one was accepted. */
  #everyMsBefore: number | undefined;
  #acceptedInARow = 0;
  /** The last post met the limit: another that does at once says no more of the pace. */
  #isLimited = false;
  #postedAtMs = Number.NEGATIVE_INFINITY;

  get hasLimit(): boolean {
    return this.#everyMs !== undefined;
  }

  /** Ms between two posts, whatever their lanes; 0 while no limit is known. */
  get everyMs(): number {
    return this.#everyMs ?? 0;
  }

  /** Ms until the lane may send the next post, where no limit is known; `isPiece`: more of it would have gone. */
  after(lane: Lane, { isPiece, nowMs }: { readonly isPiece: boolean; readonly nowMs: number }): number {
    if (!isPiece) this.#inARow.delete(lane);
    return isPiece && lane !== 'alarm' && !this.hasLimit ? this.#afterPiece(lane, nowMs) : 0;
  }

  /** A post was answered; returns how long there was none before it. */
  posted(nowMs: number): number {
    const quietMs = nowMs - this.#postedAtMs;
    this.#postedAtMs = nowMs;
    return quietMs;
  }

  /** The size of posts alone does not keep them within a limit. */
  limitFound(): void {
    this.#everyMs ??= FIRST_EVERY_MS;
  }

  /** A post was accepted, so long after the one before. */
  accepted(quietMs: number): void {
    this.#isLimited = false;
    this.#everyMsBefore = undefined;
    if (this.#everyMs === undefined) return;
    this.#acceptedInARow += 1;
    if (quietMs > this.#everyMs * 2) return;
    const rise =
      Math.min(MAX_RISE, Math.max(RISE, this.#everyMs / RISES_WITHIN_MS)) *
      (1 + this.#acceptedInARow / RISES_FASTER_AFTER);
    this.#everyMs /= 1 + rise;
    if (this.#everyMs < NO_LIMIT_MS) this.#everyMs = undefined;
  }

  /** A post met the limit that is no larger than what it takes. */
  limited(): void {
    if (this.#everyMs !== undefined && !this.#isLimited) {
      this.#everyMsBefore = this.#everyMs;
      const rate = this.#acceptedInARow < FEW ? FAR_TOO_FAST : BACK_TO;
      this.#everyMs = Math.min(MAX_EVERY_MS, this.#everyMs / rate);
    }
    this.#isLimited = true;
    this.#acceptedInARow = 0;
  }

  /** The post was at fault, not the pace. */
  notLimited(): void {
    this.#everyMs = this.#everyMsBefore ?? this.#everyMs;
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
