/**
 * The durable log between sampling and delivery. An entry is safe once `append` resolves; it leaves when it was acknowledged and its
 * time on the disk is over. It survives kills, power cuts, full and failing disks, wrong clocks and damaged files, and says what was lost.
 *
 *   append ─▶ GroupCommit ─▶ BlockBuilder ─▶ SegmentWriter ─▶ segments ─▶ Lanes ─▶ peek ─▶ acknowledge ─▶ ledger
 */
import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { Listeners } from '../values/listeners.ts';
import { CommitWriter } from './commit-writer.ts';
import type { DeadLetters } from './delivery/dead-letters.ts';
import { Delivery } from './delivery/delivery.ts';
import type { LedgerCell } from './delivery/delivery-ledger.ts';
import type { LedgerQuery } from './delivery/ledger-file.ts';
import { lossReport } from './delivery/loss-report.ts';
import type { BatchLimits, Lane, OutboxBatch } from './delivery/outbox-batch.ts';
import { type EntryQuery, readEntries } from './delivery/outbox-reading.ts';
import { asAppended, type RejectedEntry } from './delivery/rejected-file.ts';
import { type ResendQuery, resendDelivered } from './delivery/resend.ts';
import type { FramedBlock } from './format/block-frame.ts';
import type { ResolvedEntry } from './format/entry-columns.ts';
import type { TelemetryEntry } from './format/telemetry-entry.ts';
import { Housekeeping } from './housekeeping.ts';
import { type OutboxDeps, type OutboxParts, openOutboxParts } from './outbox-parts.ts';
import { AppendRate, type OutboxStatus, readStatus } from './outbox-status.ts';
import { GroupCommit } from './segments/group-commit.ts';
import { SerialQueue } from './segments/serial-queue.ts';
import type { BootTimes } from './times/boot-times.ts';

export type { DeadLetters } from './delivery/dead-letters.ts';
export type { LedgerCell } from './delivery/delivery-ledger.ts';
export type { BatchLimits, Lane, OutboxBatch } from './delivery/outbox-batch.ts';
export type { EntryQuery } from './delivery/outbox-reading.ts';
/** Types that other rooms use of the outbox: all of them come through this file. */
export type { RejectedEntry } from './delivery/rejected-file.ts';
export type { SequenceRange } from './delivery/sequence-ranges.ts';
export type { EntryColumns, ResolvedEntry } from './format/entry-columns.ts';
export type { TelemetryEntry } from './format/telemetry-entry.ts';
export {
  isMeant,
  type KeptPlace,
  KeptPlaces,
  type KeptRejected,
  type KeptStatus,
  type RejectedChoice,
  type ResentRejected,
  type UnreadPlace,
} from './kept-places.ts';
export { type OutboxStatus, statusBeforeOpening } from './outbox-status.ts';
export type { PatientOutbox } from './patient-outbox.ts';
export { type OutboxVerdict, verifyOutbox } from './segments/verify-outbox.ts';

/** A stop does not wait longer for a disk that is stuck. */
const CLOSE_DEADLINE_MS = 5_000;

export class Outbox {
  /** Entries that failed by themselves, until it is known whether others pass. */
  readonly quarantined: Delivery['quarantined'];
  /** Entries that the platform refuses alone while it takes others. */
  readonly deadLetters: Pick<DeadLetters, 'size' | 'next' | 'refused' | 'hurry'>;
  /** For what is taken now and appended later. */
  readonly times: Pick<BootTimes, 'take'>;
  readonly #parts: OutboxParts;
  readonly #commit: GroupCommit;
  readonly #delivery: Delivery;
  readonly #housekeeping: Housekeeping;
  readonly #rate: AppendRate;
  readonly #appended = new Listeners<[]>();
  /** Everything that changes files; whoever has it waits for a turn to read only so long. */
  readonly #writing = new SerialQueue();
  readonly #resending = new SerialQueue();
  readonly #endTimeSync: () => void;
  #closing: Promise<void> | undefined;

  private constructor(parts: OutboxParts) {
    const { clock, settings, timeSync } = parts;
    this.#parts = parts;
    this.times = parts.boots;
    this.#rate = new AppendRate(clock);
    this.#delivery = new Delivery({
      ...parts,
      unwritten: (kind) => this.#commit.unwritten(kind),
      isInMemory: (sequence) => this.#commit.holds(sequence),
      onLate: () => this.#notify(),
      onChanged: (entries) => this.#housekeeping.changed(entries),
    });
    const { state, quarantined, retention, deadLetters } = this.#delivery;
    this.quarantined = quarantined;
    this.deadLetters = deadLetters;
    const reportLoss = lossReport({ clock, state, append: (entries) => this.append(entries) });
    const writing = this.#writing;
    this.#housekeeping = new Housekeeping({
      ...parts,
      delivery: this.#delivery,
      writing,
      onMaintained: () => void reportLoss(),
    });
    const commits = new CommitWriter({ ...parts, retention, writing });
    this.#commit = new GroupCommit({
      ...parts,
      ...settings,
      write: (blocks, isOldest) => commits.write(blocks, isOldest),
      mayLeave: () => parts.boots.canResolve(clock.bootId),
      onCommitted: (blocks) => this.#onCommitted(blocks),
      onLeaving: () => this.#notify(),
      onDropped: (count, blocks) => {
        let arrived = 0;
        for (const { info } of blocks) {
          arrived += state.acknowledged.countWithin(info.firstSequence, info.lastSequence);
          state.acknowledged.add(info.firstSequence, info.lastSequence);
        }
        if (count > arrived) this.#delivery.count('dropped', count - arrived);
      },
    });
    this.#endTimeSync = timeSync.onChange(() => this.#onClockChange());
  }

  /** Reads no more than the newest segment. @throws AgentError `outbox/open-failed` (stop) when the folder cannot be read at all. */
  static async open(deps: OutboxDeps, signal: AbortSignal): Promise<Outbox> {
    signal.throwIfAborted();
    try {
      return new Outbox(await openOutboxParts(deps));
    } catch (cause) {
      const reason = `cannot open the outbox in ${deps.folder}: ${systemCode(cause) ?? messageOf(cause)}`;
      throw new AgentError('outbox/open-failed', reason, { recovery: 'stop', cause });
    }
  }

  /**
   * Resolves when the entries have arrived or are on the disk, within the commit age of both alarms and others: what has arrived by then is written
   * later, as part of the local record. Alarms are written at once.
   * @throws AgentError `outbox/dropped` or `outbox/full` (drop) when they had to give way, `outbox/closed` (stop).
   */
  append(entries: readonly TelemetryEntry[]): Promise<void> {
    this.#rate.add(entries.length);
    this.#parts.boots.take(entries);
    return this.#commit.append(entries);
  }

  /** Writes what is in memory without waiting for its age; resolves when all of it is durable, never while the disk takes nothing. */
  flush(): Promise<void> {
    return this.#commit.flush();
  }

  /** From the next block on; the rest of the settings is for the life of the outbox. */
  changeCommitAge(commitAgeMs: number): void {
    this.#commit.commitAgeMs = commitAgeMs;
  }

  /** Entries were lost before they could be appended. */
  countDropped(count: number): void {
    this.#delivery.count('dropped', count);
  }

  /** The platform is not reached: what has arrived lately is written, too, as it may have to go again. */
  keepRecord(): void {
    this.#commit.keepRecord();
  }

  /** Calls back when entries may leave, became durable, or when the clock did and old ones can go; the returned function ends it. */
  readonly onAppended = this.#appended.add;

  /**
   * Gives the next batch of a lane: whole blocks within the limits, at least one; undefined when there is nothing. Their times are final from now on.
   * The present comes from the disk, and what that does not have from memory. Nothing waits for a disk that hangs.
   * `beyond` is a batch on its way, which is passed over.
   */
  peek(lane: Lane, limits: BatchLimits, beyond?: OutboxBatch): Promise<OutboxBatch | undefined> {
    return this.#delivery.reading.peek(lane, limits, beyond);
  }

  /** True while a look that nobody waits for any more is under way: listeners are called when it has ended, and what it found is given out then. */
  isStillLooking(): boolean {
    return this.#delivery.reading.isStillLooking;
  }

  /** The batch arrived: its blocks are not given out again, and are counted in the ledger. */
  async acknowledge(batch: OutboxBatch): Promise<void> {
    // Entries that no disk has need no state on it: both come with the record.
    const isWritten = !batch.entries.sequences.every((sequence) => this.#commit.holds(sequence));
    this.#delivery.acknowledge(batch);
    this.#commit.arrived(this.#delivery.state.acknowledged);
    if (isWritten) this.#housekeeping.changed(batch.entries.length);
    else this.#delivery.state.dirty = true;
  }

  /** This entry can never be sent: it goes to `rejected`, and counts as acknowledged. @throws the disk's fault: it then waits as before. */
  reject(entry: ResolvedEntry, answer: string): Promise<void> {
    return this.#delivery.reject(entry, answer);
  }

  /** Copies an entry into the dead-letter queue, with its mark; its segment need not keep it. @throws the disk's fault: it then waits as before. */
  deadLetter(rows: readonly ResolvedEntry[], answer: string): Promise<void> {
    return this.#delivery.deadLetter(rows, answer);
  }

  status(): OutboxStatus {
    const { lanes, retention } = this.#delivery;
    return readStatus({
      ...this.#parts,
      commit: this.#commit,
      rate: this.#rate,
      lanes,
      retention,
    });
  }

  /** True while entries are held because their time is not known yet, and nothing else would be sent before it is. */
  waitsForTime(): boolean {
    const { boots, clock } = this.#parts;
    return !boots.canResolve(clock.bootId) && this.status().undecidedEntries > 0;
  }

  /** Entries on the disk or on their way there, delivered or not, in the order of blocks; those without a known time are left out. */
  read(query: EntryQuery, signal: AbortSignal): AsyncIterable<ResolvedEntry> {
    return readEntries({ ...this.#parts, unwritten: this.#commit.unwrittenBlocks }, query, signal);
  }

  /** Cells of what was delivered, per key and hour. */
  async readLedger(query: LedgerQuery): Promise<readonly LedgerCell[]> {
    return (await this.#parts.ledger.read(query, this.#parts.state.cells)).list();
  }

  /** Puts delivered entries that are still kept back into the backlog; resolves to how many. */
  async resend(query: ResendQuery, signal: AbortSignal): Promise<number> {
    const count = await resendDelivered({ ...this.#parts, unwritten: this.#commit.unwrittenBlocks }, query, signal);
    this.#commit.arrived(this.#delivery.state.acknowledged);
    this.#housekeeping.changed(count);
    this.#notify();
    return count;
  }

  /** Puts back what was acknowledged at or after `sinceMs`, monotonic: the platform may have lost it. */
  resendRecent(sinceMs: number): void {
    this.#delivery.resendRecent(sinceMs);
    this.#commit.arrived(this.#delivery.state.acknowledged);
  }

  /** Entries that the platform refused, with its answers, oldest first. */
  rejected(): Promise<RejectedEntry[]> {
    return this.#delivery.rejected.list();
  }

  /** Appends rejected entries again, with the times they had, and takes them off the list; returns how many. Who asks meanwhile waits, or they would go twice. */
  resendRejected(pick: (entry: RejectedEntry) => boolean): Promise<number> {
    return this.#resending.run(async () => {
      const chosen = (await this.rejected()).filter(pick);
      if (chosen.length === 0) return 0;
      const appended = this.append(asAppended(chosen, this.#parts.clock));
      // A person waits for it, and would be told after half a minute that it did not work.
      void this.flush();
      await appended;
      await this.#delivery.rejected.forget(chosen);
      return chosen.length;
    });
  }

  /** Commits what waits and writes what was acknowledged, within a deadline of its own. Idempotent: whoever calls it resolves with the first. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#endTimeSync();
    await this.#commit.close(CLOSE_DEADLINE_MS);
    await endedWithin(this.#parts.clock, CLOSE_DEADLINE_MS, this.#housekeeping.close());
  }

  #onCommitted(blocks: readonly FramedBlock[]): void {
    this.#delivery.committed(blocks);
    this.#housekeeping.committed();
    this.#notify();
  }

  #onClockChange(): void {
    this.#parts.boots.refresh();
    void this.#writing.run(() => this.#housekeeping.keepTimes());
    this.#notify();
  }

  #notify(): void {
    this.#appended.tell();
  }
}
