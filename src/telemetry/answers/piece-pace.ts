/**
 * Posts that were made small, because no more passes at once, are many for the same entries: each lane sends a bounded number of them. Alarms do
 * not wait for that. Nor does a lane that would never catch up: one that has sent pieces for most of an hour and still has more than one.
 */
import type { Lane } from '../../outbox/outbox.ts';

/** In the long run: 40 a minute and lane, which a platform that is nearly at its limit can bear. */
const PIECE_EVERY_MS = 1_500;
/** So many may follow each other at once: what it takes to look for one bad entry among two thousand. */
const PIECES_AT_ONCE = 11;
/** 50 minutes at the pace. */
const PIECES_IN_A_ROW = 2_000;

export class PiecePace {
  readonly #freeAtMs = new Map<Lane, number>();
  readonly #inARow = new Map<Lane, number>();

  /** Ms until the lane may send the next, after a piece at `nowMs`. */
  after(lane: Lane, nowMs: number): number {
    if (lane === 'alarm') return 0;
    const inARow = (this.#inARow.get(lane) ?? 0) + 1;
    this.#inARow.set(lane, inARow);
    if (inARow > PIECES_IN_A_ROW) return 0;
    const quietSinceMs = Math.max(this.#freeAtMs.get(lane) ?? Number.NEGATIVE_INFINITY, nowMs - PIECES_AT_ONCE * PIECE_EVERY_MS);
    const freeAtMs = quietSinceMs + PIECE_EVERY_MS;
    this.#freeAtMs.set(lane, freeAtMs);
    return Math.max(0, freeAtMs - nowMs);
  }

  /** The lane sent all that it had, or as much as was configured. */
  afterWhole(lane: Lane): void {
    this.#inARow.delete(lane);
  }
}
