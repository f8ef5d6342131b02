/**
 * Entries that failed by themselves: refused, or not answered in time. They make way in memory, which says nothing about them yet, until it is
 * known whether others pass. When others do, they are retried one at a time: one that fails again is at fault, one that is accepted shows that the
 * platform or the line was, and all go back to their lanes. While nothing passes, nobody is at fault.
 */
import type { Clock } from '../../host/clock.ts';
import type { Lane, Outbox, OutboxBatch } from '../../outbox/outbox.ts';

/** `nothingElse`: there are no others whose turn it is. `withHistory`: the day's budget holds back none of it. */
export interface DueOptions {
  readonly nothingElse: boolean;
  readonly withHistory: boolean;
}

/** Beyond so many the one that failed first is back in its lane. */
const MAX_QUARANTINED = 1_000;
/** An entry that the disk does not take as a dead letter must not take every second post of the others. */
const AGAIN_AFTER_MS = 10_000;

export class Quarantine {
  readonly #deps: { readonly outbox: Pick<Outbox, 'quarantined'>; readonly clock: Pick<Clock, 'monotonicMs'> };
  /** By sequence, in the order of their turns: out of which lane, and whether others were accepted since. */
  readonly #all = new Map<number, { readonly lane: Lane; readonly othersPass: boolean }>();
  /** Others were accepted since one was last asked for. */
  #othersAccepted = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(deps: { readonly outbox: Pick<Outbox, 'quarantined'>; readonly clock: Pick<Clock, 'monotonicMs'> }) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#all.size;
  }

  /** True when it failed before, and others were accepted since: if it fails again it is at fault. */
  othersPassed(sequence: number): boolean {
    return this.#all.get(sequence)?.othersPass === true;
  }

  /** How many wait for their turn, and for no other day. */
  waiting({ withHistory }: Pick<DueOptions, 'withHistory'>): number {
    return withHistory ? this.size : [...this.#all.values()].filter(({ lane }) => lane !== 'backlog').length;
  }

  /** It failed by itself: no lane gives it. */
  add(sequence: number, givenBy: Lane): void {
    // Nobody else knows that it was the present.
    const { lane = givenBy } = this.#all.get(sequence) ?? {};
    this.#all.delete(sequence);
    this.#deps.outbox.quarantined.add(sequence);
    this.#all.set(sequence, { lane, othersPass: false });
    const [first] = this.#all.keys();
    if (first !== undefined && this.#all.size > MAX_QUARANTINED) this.#putBack(first);
  }

  /** It failed again, and the disk does not keep it elsewhere. */
  keep(sequence: number, givenBy: Lane): void {
    this.add(sequence, givenBy);
    this.#notBeforeMs = this.#deps.clock.monotonicMs() + AGAIN_AFTER_MS;
  }

  /** It is kept elsewhere. */
  release(sequence: number): void {
    this.#all.delete(sequence);
  }

  /** A batch was accepted. True when one of these was in it: the platform was at fault, or the line. */
  accepted({ ranges }: OutboxBatch): boolean {
    const isOneOfThese = [...this.#all.keys()].some((sequence) => ranges.some(([first, last]) => first <= sequence && sequence <= last));
    this.#othersAccepted = !isOneOfThese;
    for (const [sequence, { lane }] of this.#all) {
      if (isOneOfThese) this.#putBack(sequence);
      else this.#all.set(sequence, { lane, othersPass: true });
    }
    return isOneOfThese;
  }

  /** The next to be retried by itself, after others had their turn. */
  async due({ nothingElse, withHistory }: DueOptions): Promise<OutboxBatch | undefined> {
    const isEarly = this.#deps.clock.monotonicMs() < this.#notBeforeMs;
    for (const [sequence, known] of [...this.#all]) {
      if (!nothingElse && (isEarly || !this.#othersAccepted)) return undefined;
      if (known.lane === 'backlog' && !withHistory) continue;
      const batch = await this.#deps.outbox.quarantined.peek(sequence);
      // It keeps its turn, and what is known of it.
      if (batch === 'not-now') return undefined;
      this.#othersAccepted = false;
      if (batch === 'unreadable') {
        this.#all.delete(sequence);
        this.#all.set(sequence, known);
      } else if (batch !== undefined) return batch;
      // Delivered, dropped or damaged: if it still waits, its lane has it.
      else this.#putBack(sequence);
    }
    return undefined;
  }

  #putBack(sequence: number): void {
    this.#all.delete(sequence);
    this.#deps.outbox.quarantined.putBack(sequence);
  }
}
