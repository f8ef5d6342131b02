/** Batches that the outbox gives out: whole blocks, with the times that their entries keep for good. */
import type { EntryColumns } from '../format/entry-columns.ts';
import type { SequenceRange } from './sequence-ranges.ts';

/** `alarm`: at once. `live`: what was committed just now. `backlog`: all else that was not delivered. */
export type Lane = 'alarm' | 'live' | 'backlog';

export interface OutboxBatch {
  readonly lane: Lane;
  /** Ascending by sequence. An entry whose time is a guess is followed by `<key>_timeUncertain`: true, of the same sequence and ts. */
  readonly entries: EntryColumns;
  /** Ranges that an acknowledgement of this batch covers: all of its blocks that is not delivered yet and not in quarantine. */
  readonly ranges: readonly SequenceRange[];
  /** Roughly what the entries take as JSON. */
  readonly bytes: number;
  /** It is one of the dead-letter queue, and of no lane. */
  readonly isDeadLetter?: true;
}

export interface BatchLimits {
  /** A block that is larger by itself is given out alone. */
  readonly maxEntries: number;
  readonly maxBytes: number;
}
