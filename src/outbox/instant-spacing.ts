/**
 * The platform keeps one value per key and ms: a second one in the same ms would overwrite the first. So the later moves on by 1 ms,
 * before it is written, which makes a retry carry the very same time.
 */

/** Instants of one key that are taken without a gap: `[first, last]`. */
interface Run {
  first: number;
  last: number;
}

/** Keys are a few dozen; this only keeps a source of endless new keys from taking the memory. */
const MOST_KEYS = 10_000;

export class InstantSpacing {
  readonly #runs = new Map<string, Run>();

  /** Instants up to this one are taken from `fromMs` on: an earlier process of this boot was ahead of the clock. */
  occupy(name: string, fromMs: number, toMs: number): void {
    const run = this.#runs.get(name);
    this.#runs.set(name, { first: Math.min(run?.first ?? fromMs, fromMs), last: Math.max(run?.last ?? toMs, toMs) });
  }

  /** The ms that this value of the key gets: its own, or the next free one of a run that covers it. */
  place(name: string, ms: number): number {
    const run = this.#runs.get(name);
    if (run === undefined) {
      if (this.#runs.size >= MOST_KEYS) this.#runs.clear();
      this.#runs.set(name, { first: ms, last: ms });
      return ms;
    }
    if (ms >= run.first && ms <= run.last) {
      run.last += 1;
      return run.last;
    }
    // A value that touches the run makes it longer, so that a third one cannot land on an instant given away before.
    if (ms !== run.last + 1) run.first = ms;
    run.last = ms;
    return ms;
  }
}
