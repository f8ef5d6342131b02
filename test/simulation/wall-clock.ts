/** Wall clock of the board, what the system says of it, and which times nobody could know: the witness judges times by it. */
import type { Timeline } from './timeline.ts';

/** The agent asks the system for its clock this often at the least, and then writes down what it heard. */
const LOOKED_AT_MS = 15_000;

/** By how much the wall clock is wrong, and whether the system knows that it is not synchronised. */
export interface ClockError {
  readonly byMs: number;
  readonly isKnown: boolean;
}

/** A stretch of the world's time. */
interface Times {
  readonly fromMs: number;
  untilMs: number;
}

export class WallClock {
  /** Boots that ended before anybody could say what time it was. */
  readonly unknownTimes: Readonly<Times>[] = [];
  /** Boots whose clock the system did not vouch for all the time. */
  readonly borrowedTimes: Times[] = [];
  /** When it was wrong and nobody could know. */
  readonly wrongTimes: (Times & { readonly byMs: number })[] = [];
  readonly #timeline: Timeline;
  /** Since when the running boot runs; undefined while the power is off. */
  readonly #bootedAtMs: () => number | undefined;
  readonly #onChange: (byMs: number) => void;
  readonly #errors = new Set<ClockError>();
  /** Since when the system calls its clock synchronised; infinity while it does not. */
  #vouchedSinceMs = Number.NEGATIVE_INFINITY;

  constructor(deps: {
    readonly timeline: Timeline;
    readonly bootedAtMs: () => number | undefined;
    readonly onChange: (byMs: number) => void;
  }) {
    this.#timeline = deps.timeline;
    this.#bootedAtMs = deps.bootedAtMs;
    this.#onChange = deps.onChange;
  }

  /** True when the operating system calls it synchronised. */
  get isSynchronised(): boolean {
    return ![...this.#errors].some(({ isKnown }) => isKnown);
  }

  /** Wall time minus true time, ms. */
  get wrongByMs(): number {
    return [...this.#errors].reduce((sum, { byMs }) => sum + byMs, 0);
  }

  /** It is wrong by so much more, until the returned function is called; with `isKnown` the system says that it is not synchronised. */
  setWrong(error: ClockError): () => void {
    this.#errors.add(error);
    this.#changed();
    return () => {
      this.#errors.delete(error);
      this.#changed();
    };
  }

  /** A boot begins with it as it is. */
  begin(): void {
    this.#noteBorrowed();
  }

  /** The boot that runs since then ends without a word. */
  cut(bootedAtMs: number): void {
    const { nowMs } = this.#timeline;
    const borrowed = this.borrowedTimes.at(-1);
    if (borrowed !== undefined) borrowed.untilMs = Math.min(borrowed.untilMs, nowMs);
    const wasVouchedFor = this.isSynchronised && nowMs - this.#vouchedSinceMs > LOOKED_AT_MS;
    if (!wasVouchedFor) this.unknownTimes.push({ fromMs: bootedAtMs, untilMs: nowMs });
  }

  /** The boot that runs, or comes, has a clock that nobody vouches for. */
  #noteBorrowed(): void {
    const fromMs = this.#bootedAtMs();
    if (this.isSynchronised || fromMs === undefined) return;
    if (this.borrowedTimes.at(-1)?.fromMs !== fromMs)
      this.borrowedTimes.push({ fromMs, untilMs: Number.POSITIVE_INFINITY });
  }

  #changed(): void {
    const { nowMs } = this.#timeline;
    this.#noteBorrowed();
    if (!this.isSynchronised) this.#vouchedSinceMs = Number.POSITIVE_INFINITY;
    else if (this.#vouchedSinceMs === Number.POSITIVE_INFINITY) this.#vouchedSinceMs = nowMs;
    const last = this.wrongTimes.at(-1);
    if (last !== undefined) last.untilMs = Math.min(last.untilMs, nowMs);
    const byMs = this.wrongByMs;
    if (byMs !== 0 && this.isSynchronised)
      this.wrongTimes.push({ byMs, fromMs: nowMs, untilMs: Number.POSITIVE_INFINITY });
    this.#onChange(byMs);
  }
}
