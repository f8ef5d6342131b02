/**
 * All that one platform device has of its own: which ranges it has received, the lanes over what it has not, the ledger, what it refused, what is in
 * quarantine or a dead letter, and its share of the disk. The segments and the times of boots are shared and handed in. Nothing is kept outside of
 * the object, so there can be several of them, each with a folder for its small files.
 */
import type { FramedBlock } from '../format/block-frame.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { BatchReader } from './batch-reader.ts';
import { DeadLetters } from './dead-letters.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { DeliveryState } from './delivery-state.ts';
import { LaneReading, type LaneReadingDeps } from './lane-reading.ts';
import { Lanes } from './lanes.ts';
import { LedgerFile } from './ledger-file.ts';
import type { OutboxBatch } from './outbox-batch.ts';
import { RejectedFile } from './rejected-file.ts';
import { RecentDeliveries } from './resend.ts';
import { Retention } from './retention.ts';
import { SequenceRanges } from './sequence-ranges.ts';

export interface DeliveryDeps
  extends Omit<DeliveryParts, 'quarantined'>,
    Pick<LaneReadingDeps, 'unwritten' | 'onLate'> {
  readonly ledger: LedgerFile;
  /** True of a number that is in memory, and not on the disk. */
  readonly isInMemory: (sequence: number) => boolean;
  /** Told that the delivery state changed, by so many entries. */
  readonly onChanged: (entries: number) => void;
}

/** Shares of `maxBytes`; with what is set aside they are less than the sixteenth that retention leaves. */
const LEDGER_FILE_SHARE = 1 / 512;
const REJECTED_FILE_SHARE = 1 / 256;
const DEAD_LETTERS_SHARE = 1 / 256;
const MAX_SMALL_FILE_BYTES = 1_000_000;
/**
 * The ledger's cells go to their file when an hour has passed, or when the delivery state grows with them: past this many, or past those of the
 * flush before where there are more keys. Else the same cells would be written each minute, and push what is old out of the ledger's files.
 */
const FLUSH_AFTER_MS = 3_600_000;
const MAX_CELLS = 256;
/** The delivery state carries no more, as all of these are written again each time: some 100 bytes a cell. */
const MAX_UNFLUSHED_CELLS = 1_024;

export class Delivery {
  readonly state: DeliveryState;
  readonly lanes: Lanes;
  readonly reading: LaneReading;
  readonly retention: Retention;
  /** Entries that the platform refused for good. */
  readonly rejected: RejectedFile;
  /** Entries that are retried alone for a week. */
  readonly deadLetters: DeadLetters;
  readonly #deps: DeliveryDeps;
  readonly #recent: RecentDeliveries;
  /** Entries that wait in quarantine, out of the lanes' sight. In memory only: a restart puts them back, and age and bound take them with the rest. */
  readonly #quarantined = new SequenceRanges();
  #flushedMs: number;
  /** Number of cells that the last flush of this run had. */
  #flushedCells = 0;

  constructor(deps: DeliveryDeps) {
    const { state, settings, clock } = deps;
    this.#deps = deps;
    this.state = state;
    this.#flushedMs = clock.monotonicMs();
    const parts = { ...deps, quarantined: this.#quarantined };
    this.lanes = new Lanes({ ...parts, acknowledged: state.acknowledged });
    const batches = new BatchReader({ ...parts, lanes: this.lanes });
    this.reading = new LaneReading({ ...deps, batches, lanes: this.lanes });
    this.#recent = new RecentDeliveries(deps);
    this.retention = new Retention({ ...parts, recent: this.#recent });
    this.rejected = new RejectedFile({ ...deps, maxBytes: smallFileBytes(settings.maxBytes, REJECTED_FILE_SHARE) });
    this.deadLetters = new DeadLetters({
      ...deps,
      maxBytes: smallFileBytes(settings.maxBytes, DEAD_LETTERS_SHARE),
      reject: async (entry, answer) => {
        await this.rejected.add(entry, answer, clock.wallMs());
        this.count('rejected', 1);
      },
    });
  }

  /** The ledger's files, without what the delivery state does not know of; one that cannot be opened is used as it is. */
  static async openLedger({ files, folder, log }: OutboxPlace, maxBytes: number, flush: number): Promise<LedgerFile> {
    const ledger = new LedgerFile({ files, folder, maxBytes: smallFileBytes(maxBytes, LEDGER_FILE_SHARE) });
    await ledger.open(flush).catch((error: unknown) => log.warn({ err: error }, 'outbox ledger cannot be opened'));
    return ledger;
  }

  /** Blocks became durable. */
  committed(blocks: readonly FramedBlock[]): void {
    const { acknowledged } = this.state;
    const waiting = blocks.filter(({ info }) => !acknowledged.covers(info.firstSequence, info.lastSequence));
    this.lanes.committed(waiting.map(({ info }) => info));
    this.reading.committed(waiting);
  }

  /** The batch arrived: its blocks are not given out again, and are counted in the ledger. */
  acknowledge({ entries, ranges, isDeadLetter }: OutboxBatch): void {
    const { acknowledged, cells } = this.state;
    if (isDeadLetter === true) {
      this.#acknowledgeLate(entries.sequences[0] as number);
      return;
    }
    for (let row = 0; row < entries.length; row += 1)
      if (!entries.isMark(row) && !acknowledged.has(entries.sequences[row] as number)) cells.add(entries, row);
    for (const [first, last] of ranges) {
      acknowledged.add(first, last);
      this.#quarantined.remove(first, last);
    }
    this.#recent.add(entries);
  }

  /** As `Outbox.quarantined`. */
  readonly quarantined = {
    /** No lane gives this entry until it is put back. */
    add: (sequence: number): void => this.#quarantined.add(sequence, sequence),
    putBack: (sequence: number): void => this.#quarantined.remove(sequence, sequence),
    /** False when it was delivered, dropped or damaged. */
    isWaiting: (sequence: number): boolean => !this.state.acknowledged.has(sequence),
  };

  /** As `Outbox.resendRecent`. */
  resendRecent(sinceMs: number): void {
    this.count('resent', this.#recent.putBack(sinceMs));
  }

  /** As `Outbox.reject`. */
  async reject(entry: ResolvedEntry, answer: string): Promise<void> {
    const { acknowledged } = this.state;
    if (acknowledged.has(entry.sequence)) return;
    await this.rejected.add(entry, answer, this.#deps.clock.wallMs());
    // The entry may have been sent again while the disk hung.
    if (acknowledged.has(entry.sequence)) await this.rejected.forget([entry]);
    else this.#settle(entry.sequence, 'rejected');
  }

  /** As `Outbox.deadLetter`. */
  async deadLetter(rows: readonly ResolvedEntry[], answer: string): Promise<void> {
    const { sequence } = rows[0] as ResolvedEntry;
    if (this.state.acknowledged.has(sequence)) return;
    await this.deadLetters.add(rows, answer);
    // The entry may have been sent again while the disk hung.
    if (this.state.acknowledged.has(sequence)) this.deadLetters.accepted(sequence);
    else this.#settle(sequence);
  }

  count(counter: 'dropped' | 'rejected' | 'resent', count: number): void {
    this.state.count(counter, count);
    this.#deps.onChanged(count);
  }

  /** True when the ledger's cells are to go to their file. */
  get isLedgerDue(): boolean {
    const { size } = this.state.cells;
    const mostCells = Math.min(Math.max(MAX_CELLS, this.#flushedCells), MAX_UNFLUSHED_CELLS);
    return size > mostCells || (size > 0 && this.#deps.clock.monotonicMs() - this.#flushedMs > FLUSH_AFTER_MS);
  }

  /** Writes the delivery state, and first the ledger's cells when they are due. Never rejects. */
  async save(): Promise<void> {
    await this.#flushLedger();
    await this.state.save().catch((error: unknown) => {
      this.#deps.log.warn(
        { err: error },
        'delivery state cannot be written; some entries may be sent again after a crash',
      );
    });
  }

  /** Cells that the ledger does not take stay in the delivery state, as far as that can carry them. */
  async #flushLedger(): Promise<void> {
    const { state } = this;
    const { ledger, clock, log } = this.#deps;
    if (!this.isLedgerDue) return;
    try {
      // The lines first: a state that knows of a flush must find its lines.
      await ledger.add(state.flush + 1, state.cells.list());
    } catch (error) {
      const forgotten = state.cells.forgetOldest(MAX_UNFLUSHED_CELLS);
      log.warn({ err: error, forgotten }, 'ledger of what was delivered cannot be written');
      return;
    }
    state.flush += 1;
    this.#flushedCells = state.cells.size;
    state.cells.clear();
    state.dirty = true;
    this.#flushedMs = clock.monotonicMs();
  }

  /** A dead letter arrived after all. */
  #acknowledgeLate(sequence: number): void {
    const entries = this.deadLetters.accepted(sequence);
    if (entries === undefined) return;
    this.state.cells.add(entries, 0);
    this.#recent.add(entries);
    this.state.undelivered.remove(sequence, sequence);
  }

  /** The segments need not deliver this entry any more. */
  #settle(sequence: number, counter?: 'rejected'): void {
    this.state.acknowledged.add(sequence, sequence);
    this.state.noteUndelivered(sequence);
    this.#quarantined.remove(sequence, sequence);
    if (counter !== undefined) this.count(counter, 1);
    else this.#deps.onChanged(1);
  }
}

function smallFileBytes(maxBytes: number, share: number): number {
  return Math.min(MAX_SMALL_FILE_BYTES, maxBytes * share);
}
