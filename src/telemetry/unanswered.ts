/**
 * Entries that were sent by themselves and not answered in time. While nothing passes that says nothing about them: they only make way, to show
 * whether others pass. When one does, they go again, one at a time: one that is taken shows that it was the line, and all go back to their lanes;
 * one that fails once more does not pass while others do (suspects.ts). In memory only.
 */
import type { Outbox, OutboxBatch } from '../outbox/outbox.ts';

/** As many as may be suspects; then the one that made way first is back in its lane. */
const MAX_MADE_WAY = 1_000;

export class Unanswered {
  /** Asked for what stands aside only when something does: at a start there may be no open outbox yet. */
  readonly #outbox: Pick<Outbox, 'aside'>;
  /** By sequence, in the order of their turns: whether others were taken since. */
  readonly #all = new Map<number, boolean>();
  /** Others were taken since one was last asked for. */
  #othersTaken = false;

  constructor(outbox: Pick<Outbox, 'aside'>) {
    this.#outbox = outbox;
  }

  get size(): number {
    return this.#all.size;
  }

  /** It was sent by itself and not answered. True when it is no longer held here: others passed since it failed before. */
  failed(sequence: number): boolean {
    const doesNotPass = this.#all.get(sequence) === true;
    this.#all.delete(sequence);
    if (doesNotPass) return true;
    this.#outbox.aside.add(sequence);
    this.#all.set(sequence, false);
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
    const sequences = [...this.#all.keys()];
    const wasLine = sequences.some((sequence) => ranges.some(([first, last]) => first <= sequence && sequence <= last));
    this.#othersTaken = !wasLine;
    for (const sequence of sequences) {
      if (wasLine) this.#putBack(sequence);
      else this.#all.set(sequence, true);
    }
  }

  /** The next to go again, after others had their turn; `nothingElse`: there are no others. */
  async due(options: { readonly nothingElse: boolean }): Promise<OutboxBatch | undefined> {
    for (const [sequence, othersPassed] of [...this.#all]) {
      if (!options.nothingElse && !this.#othersTaken) return undefined;
      const batch = await this.#outbox.aside.peek(sequence);
      // It keeps its turn, and what is known of it.
      if (batch === 'not-now') return undefined;
      this.#othersTaken = false;
      if (batch === 'unreadable') {
        this.#all.delete(sequence);
        this.#all.set(sequence, othersPassed);
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
