/**
 * Meaning of an empty 500. It is a limit of posts, which time heals and no smaller post does; or one of data points, or an entry that the
 * platform stumbles over. Limits of posts are refilled steadily and let any lane through; so the post itself is in doubt only when time did
 * not heal it, or when others went through, each at its first try, while those of one lane did not.
 */
import type { Clock } from '../../host/clock.ts';
import type { Lane, OutboxBatch } from '../../outbox/outbox.ts';

/** `moment`: it may pass by itself. `open`: nobody can say. `post`: it is about what was posted. */
export type Empty500Meaning = 'moment' | 'open' | 'post';

export interface SequenceSpan {
  readonly first: number;
  readonly last: number;
}

/** One is nothing: the second in a row is looked into. */
const OPEN_AT = 2;
const IN_VAIN_MS = 75_000;
const IN_VAIN_TRIES = 6;
const OTHERS_TAKEN = 3;

/** Counts of one lane. */
interface LaneCount {
  /** Entries of it that were answered with an empty 500 last. */
  span: SequenceSpan;
  /** How often, since anything of the lane was taken. */
  count: number;
  /** Posts of others taken since then, each at its first try. */
  othersTaken: number;
}

export class Empty500 {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #lanes = new Map<Lane, LaneCount>();
  /** Lanes of which it is known that it is not the number of posts. */
  readonly #known = new Set<Lane>();
  /** When the first came since anything was taken. */
  #sinceMs: number | undefined;
  /** Empty 500s since anything was taken. */
  count = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  taken(batch: OutboxBatch): void {
    const span = spanOf(batch);
    this.#sinceMs = undefined;
    this.count = 0;
    for (const [lane, counted] of this.#lanes) {
      counted.othersTaken += 1;
      if (lane === batch.lane) counted.count = 0;
      if (touches(span, counted.span)) this.#lanes.delete(lane);
    }
  }

  /** A batch was answered with an empty 500. */
  met(batch: OutboxBatch): Empty500Meaning {
    const { lane } = batch;
    const span = spanOf(batch);
    const nowMs = this.#clock.monotonicMs();
    this.#sinceMs ??= nowMs;
    this.count += 1;
    for (const [other, counted] of this.#lanes) if (other !== lane) counted.othersTaken = 0;
    for (const sure of this.#known) if (sure !== lane) this.#known.delete(sure);
    const own = this.#lanes.get(lane) ?? { span, count: 0, othersTaken: 0 };
    this.#lanes.set(lane, own);
    if (!touches(span, own.span)) own.othersTaken = 0;
    own.span = span;
    own.count += 1;
    if (own.othersTaken >= OTHERS_TAKEN) this.#known.add(lane);
    if (this.#known.has(lane)) return 'post';
    if (own.count < OPEN_AT) return 'moment';
    return this.count >= IN_VAIN_TRIES && nowMs - this.#sinceMs >= IN_VAIN_MS ? 'post' : 'open';
  }
}

export function spanOf({ entries: { sequences } }: OutboxBatch): SequenceSpan {
  return { first: sequences[0] as number, last: sequences.at(-1) as number };
}

function touches(a: SequenceSpan, b: SequenceSpan): boolean {
  return a.first <= b.last && b.first <= a.last;
}
