/**
 * Reads of segments take turns, one at a time. A read that hangs keeps its turn and all others wait; for how long it has hung is known. Work that
 * commits wait for goes to the head of the line.
 */
import type { Clock } from '../../host/clock.ts';

export class ReadingTurns {
  readonly #clock: Clock;
  readonly #line: (() => void)[] = [];
  /** While somebody has a turn: when the disk last came back to them. */
  #advancedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For how long the disk has not come back to the one whose turn it is; 0 when nobody reads. */
  get stillForMs(): number {
    return this.#advancedMs === undefined ? 0 : this.#clock.monotonicMs() - this.#advancedMs;
  }

  /** The disk came back to the one whose turn it is. */
  advanced(): void {
    if (this.#advancedMs !== undefined) this.#advancedMs = this.#clock.monotonicMs();
  }

  /** Runs when all that came before has ended, however it ended: on a disk that hangs, perhaps never. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#enter((begin) => this.#line.push(begin), work);
  }

  /** The same, before all others that wait. */
  soon<T>(work: () => Promise<T>): Promise<T> {
    return this.#enter((begin) => this.#line.unshift(begin), work);
  }

  #enter<T>(stand: (begin: () => void) => void, work: () => Promise<T>): Promise<T> {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    stand(begin);
    this.#next();
    return begun.then(work).finally(() => {
      this.#advancedMs = undefined;
      this.#next();
    });
  }

  #next(): void {
    if (this.#advancedMs !== undefined) return;
    const begin = this.#line.shift();
    if (begin === undefined) return;
    this.#advancedMs = this.#clock.monotonicMs();
    begin();
  }
}
