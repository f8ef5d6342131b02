/**
 * Reads of segments take turns, one at a time. A read that hangs keeps its turn and all others wait; for how long it has hung is known. Work that
 * commits wait for goes to the head of the line, and waits for as long as the disk makes progress: slow is not the same as hanging.
 */
import { endedWithin } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';

/** One access to a slow card takes a second or two. */
const PATIENCE_MS = 10_000;
/** The longest wait, however much progress there is. What is committed meanwhile is in memory only: there is room for it, but a power cut takes it. */
const MAX_WAIT_MS = 60_000;

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

  /**
   * The same for callers that must not wait for a disk that hangs: they get `late`. If it hangs before their turn comes, the work never begins;
   * if it hangs during the work, the signal aborts, and nobody waits for the result any more.
   */
  async soon<T>(work: (late: AbortSignal) => Promise<T>): Promise<T | 'late'> {
    if (this.stillForMs >= PATIENCE_MS) return 'late';
    const late = new AbortController();
    const turn = this.#enter<T | 'late'>(
      (begin) => this.#line.unshift(begin),
      async () => (late.signal.aborted ? 'late' : work(late.signal)),
    );
    const untilMs = this.#clock.monotonicMs() + MAX_WAIT_MS;
    for (;;) {
      const leftMs = Math.min(PATIENCE_MS - this.stillForMs, untilMs - this.#clock.monotonicMs());
      if (leftMs <= 0) break;
      if (await endedWithin(this.#clock, leftMs, turn)) return turn;
    }
    late.abort();
    return 'late';
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
