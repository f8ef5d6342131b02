/**
 * Long answers take their turn, so that callers who ask for them at the same time all get theirs, and what waits for callers to take it stays
 * bounded. Whoever holds the turn and takes nothing loses it, and its connection.
 */
import type { Clock } from '../host/clock.ts';

export interface LongAnswer {
  readonly bytes: number;
  /** Returns the bytes that the caller has not read yet. */
  readonly left: () => number;
  /** Ends a caller that takes nothing. */
  readonly giveUp: () => void;
}

/** A caller that is alive takes some of it in this time. */
const PATIENCE_MS = 5_000;

export class LongAnswers {
  readonly #clock: Clock;
  readonly #limitBytes: number;
  readonly #held = new Set<LongAnswer>();
  #waiting: { readonly answer: LongAnswer; readonly go: () => void }[] = [];
  #isWatching = false;

  constructor(deps: { readonly clock: Clock; readonly limitBytes: number }) {
    this.#clock = deps.clock;
    this.#limitBytes = deps.limitBytes;
  }

  /** Resolves when there is room for it; `over` must be called once it was read, or its caller is gone. */
  async turn(answer: LongAnswer): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(answer)) this.#held.add(answer);
    else {
      await new Promise<void>((go) => {
        this.#waiting.push({ answer, go });
        this.#watch();
      });
    }
  }

  /** Idempotent. */
  over(answer: LongAnswer): void {
    this.#held.delete(answer);
    this.#waiting = this.#waiting.filter((one) => one.answer !== answer);
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.answer); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#held.add(next.answer);
      next.go();
    }
  }

  #fits({ bytes }: LongAnswer): boolean {
    const sum = [...this.#held].reduce((total, one) => total + one.bytes, 0);
    return sum === 0 || sum + bytes <= this.#limitBytes;
  }

  /** While anybody waits, whoever holds it up must take something. */
  #watch(): void {
    if (this.#isWatching || this.#waiting.length === 0) return;
    this.#isWatching = true;
    const before = new Map([...this.#held].map((answer) => [answer, answer.left()]));
    this.#clock.after(PATIENCE_MS, () => {
      this.#isWatching = false;
      for (const [answer, left] of before) if (this.#held.has(answer) && answer.left() >= left) answer.giveUp();
      this.#watch();
    });
  }
}
