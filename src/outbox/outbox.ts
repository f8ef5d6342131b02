/**
 * The durable log between sampling and delivery. An entry is safe once `append` resolves; it leaves when it was acknowledged and its
 * time on the disk is over. It survives kills, power cuts, full and failing disks, wrong clocks and damaged files, and says what was lost.
 *
 *   append ─▶ GroupCommit ─▶ BlockBuilder ─▶ SegmentWriter ─▶ segments ─▶ Lanes ─▶ peek ─▶ acknowledge ─▶ ledger
 */
import { AgentError, messageOf, systemCode } from '../errors.ts';
import { BatchReader } from './batch-reader.ts';
import type { FramedBlock } from './block-frame.ts';
import { type LedgerCell, LedgerCells } from './delivery-ledger.ts';
import { systemFiles } from './file-layer.ts';
import { GroupCommit } from './group-commit.ts';
import { Housekeeping } from './housekeeping.ts';
import { type LedgerQuery, matches } from './ledger-file.ts';
import { LossReport } from './loss-report.ts';
import type { BatchLimits, Lane, OutboxBatch, ResolvedEntry } from './outbox-batch.ts';
import { type OutboxDeps, type OutboxParts, openParts } from './outbox-parts.ts';
import { type EntryQuery, readEntries } from './outbox-reading.ts';
import { AppendRate, type OutboxStatus, readStatus } from './outbox-status.ts';
import { asAppended, type RejectedEntry } from './rejected-file.ts';
import { type ResendQuery, resendDelivered } from './resend.ts';
import type { BegunWrite } from './segment-writer.ts';
import { SerialQueue } from './serial-queue.ts';
import type { TelemetryEntry } from './telemetry-entry.ts';

/** A stop does not wait longer for a disk that is stuck. */
const CLOSE_DEADLINE_MS = 5_000;

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #parts: OutboxParts;
  readonly #commit: GroupCommit;
  readonly #batches: BatchReader;
  readonly #housekeeping: Housekeeping;
  readonly #rate: AppendRate;
  readonly #listeners = new Set<() => void>();
  /** Everything that changes files, and everything that reads segments; who needs both takes them in this order. */
  readonly #writing = new SerialQueue();
  readonly #reading = new SerialQueue();
  readonly #placing = new SerialQueue();
  readonly #opened: { readonly atMs: number; readonly diskBytes: number };
  readonly #endTimeSync: () => void;
  #closed = false;

  private constructor(deps: OutboxDeps, parts: OutboxParts) {
    const { clock, log, settings, timeSync } = deps;
    this.#deps = deps;
    this.#parts = parts;
    this.#rate = new AppendRate(clock);
    this.#opened = { atMs: clock.monotonicMs(), diskBytes: parts.state.counters.diskBytes };
    this.#batches = new BatchReader({ ...parts, clock, log, order: settings.order });
    const loss = new LossReport({ clock, state: parts.state });
    // A report that finds no room is made again with the next loss.
    const onMaintained = (): void => void this.append(loss.next()).catch(() => {});
    this.#housekeeping = new Housekeeping({ clock, log, parts, writing: this.#writing, reading: this.#reading, onMaintained });
    this.#commit = new GroupCommit({
      clock,
      log,
      builder: parts.builder,
      commitAgeMs: settings.commitAgeMs,
      commitEntries: settings.commitEntries,
      memoryEntries: settings.memoryEntries,
      write: (blocks, isOldest) => this.#writing.share(() => this.#write(blocks, isOldest)),
      onCommitted: (blocks) => this.#onCommitted(blocks),
      onDropped: (count, ranges) => {
        for (const [first, last] of ranges) parts.state.acknowledged.add(first, last);
        this.#count('dropped', count);
      },
    });
    this.#endTimeSync = timeSync.onChange(() => this.#onClockChange());
  }

  /**
   * Opens the folder, whatever is in it; reads no more than the newest segment.
   * @throws AgentError `outbox/open-failed` (stop) when the folder cannot be read at all.
   */
  static async open(deps: OutboxDeps, signal: AbortSignal): Promise<Outbox> {
    signal.throwIfAborted();
    try {
      return new Outbox(deps, await openParts({ ...deps, files: deps.files ?? systemFiles }));
    } catch (cause) {
      const reason = `cannot open the outbox in ${deps.folder}: ${systemCode(cause) ?? messageOf(cause)}`;
      throw new AgentError('outbox/open-failed', reason, { recovery: 'stop', cause });
    }
  }

  /**
   * Resolves when the entries are on the disk. Alarms are committed at once, others within the commit age.
   * @throws AgentError `outbox/dropped` or `outbox/full` (drop) when they had to give way, `outbox/closed` (stop).
   */
  append(entries: readonly TelemetryEntry[]): Promise<void> {
    this.#rate.add(entries.length);
    return this.#commit.append(entries);
  }

  /** Commits what waits in memory without waiting for its age; resolves when all of it is durable, never while the disk takes nothing. */
  flush(): Promise<void> {
    return this.#commit.flush();
  }

  /** From the next block on; the rest of the settings is for the life of the outbox. */
  changeCommitAge(commitAgeMs: number): void {
    this.#commit.commitAgeMs = commitAgeMs;
  }

  /** Calls back when entries became durable, or when the clock did and old ones can go; the returned function ends it. */
  onAppended(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * What a lane has to send: whole blocks within the limits, at least one; undefined when there is nothing. Their times are final from now on.
   * `beyond` is a batch on its way, which is passed over.
   */
  async peek(lane: Lane, limits: BatchLimits, beyond?: OutboxBatch): Promise<OutboxBatch | undefined> {
    if (!this.#parts.lanes.mayHold(lane)) return undefined;
    return this.#reading.run(() => this.#batches.next(lane, limits, beyond));
  }

  /** The batch arrived: its blocks are not given out again, and are counted in the ledger. */
  async acknowledge(batch: OutboxBatch): Promise<void> {
    const { acknowledged, cells } = this.#parts.state;
    const isNew = !batch.ranges.some(([first, last]) => acknowledged.touches(first, last));
    const { entries } = batch;
    for (let row = 0; row < entries.length; row += 1)
      if (!entries.isMark(row) && (isNew || !acknowledged.has(entries.sequences[row] as number))) cells.add(entries, row);
    for (const [first, last] of batch.ranges) acknowledged.add(first, last);
    this.#housekeeping.changed(batch.entries.length);
  }

  /** The platform refuses this one entry: it goes to `rejected` with the answer, and counts as acknowledged. */
  async reject(batch: OutboxBatch, entry: ResolvedEntry | number, answer: string): Promise<void> {
    const refused = typeof entry === 'number' ? batch.entries.at(batch.entries.sequences.indexOf(entry)) : entry;
    if (refused === undefined || this.#parts.state.acknowledged.has(refused.sequence)) return;
    const { log, clock } = this.#deps;
    await this.#writing
      .run(() => this.#parts.rejected.add(refused, answer, clock.wallMs()))
      // A full disk must not leave one bad entry in the way of all good ones.
      .catch((error: unknown) => log.error({ key: refused.key, answer, err: error }, 'rejected entry cannot be kept'));
    this.#parts.state.acknowledged.add(refused.sequence, refused.sequence);
    this.#count('rejected', 1);
  }

  status(): OutboxStatus {
    const { clock, settings } = this.#deps;
    const { minFreeBytes } = settings;
    return readStatus({ ...this.#parts, clock, minFreeBytes, commit: this.#commit, rate: this.#rate, opened: this.#opened });
  }

  /** Durable entries still on the disk, delivered or not, in the order of blocks; those without a known time are left out. */
  read(query: EntryQuery, signal: AbortSignal): AsyncIterable<ResolvedEntry> {
    return readEntries({ ...this.#parts, reading: this.#reading }, query, signal);
  }

  /** What was delivered, per key and hour. */
  async readLedger(query: LedgerQuery): Promise<readonly LedgerCell[]> {
    const cells = new LedgerCells();
    await this.#writing.run(async () => {
      await this.#parts.ledger.read(query, cells);
      for (const cell of this.#parts.state.cells.list()) if (matches(cell, query)) cells.merge(cell);
    });
    return cells.list();
  }

  /** Puts delivered entries that are still kept back into the backlog; resolves to how many. */
  async resend(query: ResendQuery, signal: AbortSignal): Promise<number> {
    const rejected = new Set((await this.#parts.rejected.list()).map(({ sequence }) => sequence));
    const count = await resendDelivered({ ...this.#parts, reading: this.#reading, rejected }, query, signal);
    this.#housekeeping.changed(count);
    this.#notify();
    return count;
  }

  /** What the platform refused, with its answers, oldest first. */
  rejected(): Promise<RejectedEntry[]> {
    return this.#parts.rejected.list();
  }

  /** Appends rejected entries again, with the times they had, and takes them off the list; returns how many. */
  async resendRejected(pick: (entry: RejectedEntry) => boolean): Promise<number> {
    const chosen = (await this.#parts.rejected.list()).filter(pick);
    if (chosen.length === 0) return 0;
    await this.append(asAppended(chosen, this.#deps.clock));
    const sent = new Set(chosen.map(({ sequence }) => sequence));
    await this.#writing.run(async () => {
      const all = await this.#parts.rejected.list();
      await this.#parts.rejected.replace(all.filter(({ sequence }) => !sent.has(sequence)));
    });
    return chosen.length;
  }

  /** Commits what waits and writes what was acknowledged, within a deadline of its own. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#endTimeSync();
    await this.#commit.close(CLOSE_DEADLINE_MS);
    const deadline = new AbortController();
    await Promise.race([this.#housekeeping.close(), this.#deps.clock.sleep(CLOSE_DEADLINE_MS, deadline.signal)]);
    deadline.abort();
  }

  async #write(blocks: readonly FramedBlock[], isOldest: boolean): Promise<void> {
    try {
      const { written } = await this.#placing.run(() => this.#place(blocks, isOldest));
      await written;
    } catch (error) {
      const { retention } = this.#parts;
      if (systemCode(error) === 'ENOSPC') await this.#reading.run(() => retention.freeDelivered()).catch(() => {});
      throw error;
    }
  }

  /** Makes room and begins to write; commits take their places in the order of their sequences. */
  async #place(blocks: readonly FramedBlock[], isOldest: boolean): Promise<BegunWrite> {
    const { retention, writer, boots } = this.#parts;
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    const hasRoom = await retention.makeRoom(size, (work) => this.#reading.run(work));
    if (!hasRoom && !blocks.some(({ info }) => info.alarm))
      throw new AgentError('outbox/full', 'the outbox is full, and set to drop the newest', { recovery: 'drop' });
    // A boot must be in the table before the next one begins, so that boots stay in their order.
    if (boots.dirty) await this.#housekeeping.keepTimes();
    return writer.begin(blocks, { isOldest });
  }

  #onCommitted(blocks: readonly FramedBlock[]): void {
    this.#parts.lanes.committed(blocks.map(({ info }) => info));
    this.#housekeeping.committed();
    this.#notify();
  }

  #onClockChange(): void {
    this.#parts.boots.refresh();
    void this.#writing.run(() => this.#housekeeping.keepTimes());
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #count(counter: 'dropped' | 'rejected', count: number): void {
    this.#parts.state.count(counter, count);
    this.#housekeeping.changed(count);
  }
}
