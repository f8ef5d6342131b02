/** How uploads go: how long each took and how it ended, for the page and the metrics. */
import type { Clock } from '../host/clock.ts';

export interface UploadTimesStatus {
  readonly lastMs?: number;
  /** Median of the last that were accepted. */
  readonly medianMs?: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** How many took at most so many seconds, as Prometheus counts: each contains those before it. */
  readonly buckets: readonly (readonly [number, number])[];
  readonly sumSeconds: number;
  readonly count: number;
}

/** From a LAN to a bad mobile link. */
const BOUNDS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MAX_RECENT = 25;

export class UploadTimes {
  readonly #clock: Clock;
  readonly #recent: number[] = [];
  readonly #counts = BOUNDS_SECONDS.map(() => 0);
  readonly #outcomes = new Map<string, number>();
  #sumMs = 0;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs an upload and notes how it went; an answer's `kind` is its outcome. */
  async measure<T extends { readonly kind: string }>(upload: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonicMs();
    let outcome = 'failed';
    try {
      const answer = await upload();
      outcome = answer.kind;
      return answer;
    } finally {
      this.#note(this.#clock.monotonicMs() - startedMs, outcome);
    }
  }

  status(): UploadTimesStatus {
    const sorted = this.#recent.toSorted((a, b) => a - b);
    return {
      lastMs: this.#recent.at(-1),
      medianMs: sorted[Math.floor(sorted.length / 2)],
      outcomes: Object.fromEntries(this.#outcomes),
      buckets: BOUNDS_SECONDS.map((bound, index) => [bound, this.#counts[index] ?? 0]),
      sumSeconds: this.#sumMs / 1000,
      count: this.#count,
    };
  }

  #note(ms: number, outcome: string): void {
    // A refused connection is quick and says nothing of the link.
    if (outcome === 'accepted') this.#recent.push(ms);
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
    for (const [index, bound] of BOUNDS_SECONDS.entries())
      if (ms <= bound * 1000) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    this.#sumMs += ms;
    this.#count += 1;
  }
}
