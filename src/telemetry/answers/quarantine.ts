/**
 * Entries that failed by themselves: refused, or not answered in time. They make way in memory, which says nothing about them yet, until it is
 * known whether others pass. When others do, they are retried one at a time: one that fails again is at fault, one that is accepted shows that the
 * platform or the line was, and all go back to their lanes. While nothing passes, nobody is at fault.
 */
import type { EntryColumns, Lane, Outbox, OutboxBatch } from '../../outbox/outbox.ts';

/** `nothingElse`: there are no others whose turn it is. `withHistory`: the link holds back none of it. */
export interface DueOptions {
  readonly nothingElse: boolean;
  readonly withHistory: boolean;
}

/** Beyond so many, or so much, the one that failed first is back in its lane. */
const MAX_QUARANTINED = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

interface Quarantined {
  /** The entry, with its mark if it has one. */
  readonly entries: EntryColumns;
  readonly bytes: number;
  /** The lane that gave it first. */
  readonly lane: Lane;
  /** Others were accepted since it failed. */
  readonly othersPass: boolean;
}

export class Quarantine {
  /** It may not be open yet. */
  readonly #outbox: Pick<Outbox, 'quarantined'>;
  /** By sequence, in the order of their turns. */
  readonly #all = new Map<number, Quarantined>();
  /** Others were accepted since one was last asked for. */
  #othersAccepted = false;

  constructor(outbox: Pick<Outbox, 'quarantined'>) {
    this.#outbox = outbox;
  }

  get size(): number {
    return this.#all.size;
  }

  /** True when these can be added without the first going back into its lane. */
  hasRoomFor(entries: EntryColumns): boolean {
    return this.size < MAX_QUARANTINED && this.#bytes + entries.jsonBytes() <= MAX_BYTES;
  }

  /** True when it failed before, and others were accepted since: if it fails again it is at fault. */
  othersPassed(sequence: number): boolean {
    return this.#all.get(sequence)?.othersPass === true;
  }

  /** How many wait for their turn, and for no other day. */
  waiting({ withHistory }: Pick<DueOptions, 'withHistory'>): number {
    return withHistory ? this.size : [...this.#all.values()].filter(({ lane }) => lane !== 'backlog').length;
  }

  /** An entry failed by itself: no lane gives it. */
  add(entries: EntryColumns, givenBy: Lane): void {
    const sequence = entries.sequences[0] as number;
    // Nobody else knows that it was the present.
    const { lane = givenBy } = this.#all.get(sequence) ?? {};
    this.#all.delete(sequence);
    this.#outbox.quarantined.add(sequence);
    this.#all.set(sequence, { entries, bytes: entries.jsonBytes(), lane, othersPass: false });
    for (const first of this.#all.keys()) {
      if (this.#all.size <= MAX_QUARANTINED && (this.#bytes <= MAX_BYTES || this.#all.size === 1)) break;
      this.#putBack(first);
    }
  }

  /** It is kept elsewhere. */
  release(sequence: number): void {
    this.#all.delete(sequence);
  }

  /** A batch was accepted. True when one of these was in it: the platform was at fault, or the line. */
  accepted({ ranges }: OutboxBatch): boolean {
    const isOneOfThese = [...this.#all.keys()].some((sequence) =>
      ranges.some(([first, last]) => first <= sequence && sequence <= last),
    );
    this.#othersAccepted = !isOneOfThese;
    for (const [sequence, known] of this.#all) {
      if (isOneOfThese) this.#putBack(sequence);
      else this.#all.set(sequence, { ...known, othersPass: true });
    }
    return isOneOfThese;
  }

  /** The next to be retried by itself, after others had their turn. */
  due({ nothingElse, withHistory }: DueOptions): OutboxBatch | undefined {
    for (const [sequence, { entries, bytes, lane }] of this.#all) {
      if (!nothingElse && !this.#othersAccepted) return undefined;
      if (lane === 'backlog' && !withHistory) continue;
      // Delivered, dropped or damaged meanwhile.
      if (!this.#outbox.quarantined.isWaiting(sequence)) this.#putBack(sequence);
      else {
        this.#othersAccepted = false;
        return { lane: lane === 'alarm' ? lane : 'backlog', entries, ranges: [[sequence, sequence]], bytes };
      }
    }
    return undefined;
  }

  get #bytes(): number {
    return [...this.#all.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #putBack(sequence: number): void {
    this.#all.delete(sequence);
    this.#outbox.quarantined.putBack(sequence);
  }
}
