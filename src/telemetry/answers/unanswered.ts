/**
 * Entries that were sent by themselves and not answered in time. While nothing passes that says nothing about them: they only make way, to show
 * whether others pass. When one does, they go again, one at a time: one that is taken shows that it was the line, and all go back to their lanes;
 * one that fails once more does not pass while others do (suspects.ts). In memory only.
 */
import type { Lane, Outbox, OutboxBatch } from '../../outbox/outbox.ts';

/** `nothingElse`: there are no others whose turn it is. `withHistory`: the day's budget holds back none of it. */
export interface DueOptions {
  readonly nothingElse: boolean;
  readonly withHistory: boolean;
}

/** As many as may be suspects; then the one that made way first is back in its lane. */
const MAX_MADE_WAY = 1_000;

export class Unanswered {
  /** Asked for what stands aside only when something does: at a start there may be no open outbox yet. */
  readonly #outbox: Pick<Outbox, 'aside'>;
  /** By sequence, in the order of their turns: out of which lane, and whether others were taken since. */
  readonly #all = new Map<number, { readonly lane: Lane; readonly othersPassed: boolean }>();
  /** Others were taken since one was last asked for. */
  #othersTaken = false;

  constructor(outbox: Pick<Outbox, 'aside'>) {
    this.#outbox = outbox;
  }

  get size(): number {
    return this.#all.size;
  }

  /** How many wait for their turn, and for no other day. */
  waiting({ withHistory }: Pick<DueOptions, 'withHistory'>): number {
    return withHistory ? this.size : [...this.#all.values()].filter(({ lane }) => lane !== 'backlog').length;
  }

  /** It was sent by itself and not answered. True when it is no longer held here: others passed since it failed before. */
  failed(sequence: number, givenBy: Lane): boolean {
    // Of what stands aside nobody else knows that it was the present.
    const { lane = givenBy, othersPassed = false } = this.#all.get(sequence) ?? {};
    this.#all.delete(sequence);
    if (othersPassed) return true;
    this.#outbox.aside.add(sequence);
    this.#all.set(sequence, { lane, othersPassed });
    const [first] = this.#all.keys();
    if (first !== undefined && this.#all.size > MAX_MADE_WAY) this.#putBack(first);
    return false;
  }

  /** It was answered, whatever the answer. */
  forget(sequence: number): void {
    this.#all.delete(sequence);
  }

  /** A batch was taken. */
  taken({ ranges }: OutboxBatch): void {
    const wasLine = [...this.#all.keys()].some((sequence) => ranges.some(([first, last]) => first <= sequence && sequence <= last));
    this.#othersTaken = !wasLine;
    for (const [sequence, { lane }] of this.#all) {
      if (wasLine) this.#putBack(sequence);
      else this.#all.set(sequence, { lane, othersPassed: true });
    }
  }

  /** The next to go again, after others had their turn. */
  async due({ nothingElse, withHistory }: DueOptions): Promise<OutboxBatch | undefined> {
    for (const [sequence, known] of [...this.#all]) {
      if (!nothingElse && !this.#othersTaken) return undefined;
      if (known.lane === 'backlog' && !withHistory) continue;
      const batch = await this.#outbox.aside.peek(sequence);
      // It keeps its turn, and what is known of it.
      if (batch === 'not-now') return undefined;
      this.#othersTaken = false;
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
    this.#outbox.aside.putBack(sequence);
  }
}
