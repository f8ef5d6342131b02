/**
 * The durable log between sampling and delivery. An entry is safe once `append` resolves; it leaves when it was acknowledged and its
 * time on the disk is over. It survives kills, power cuts, full and failing disks, wrong clocks and damaged files, and says what was lost.
 *
 *   append ─▶ GroupCommit ─▶ BlockBuilder ─▶ SegmentWriter ─▶ segments ─▶ Lanes ─▶ peek ─▶ acknowledge ─▶ ledger
 */
import { AgentError, messageOf, systemCode } from '../errors.ts';
import { BlockBuilder } from './block-builder.ts';
import type { FramedBlock } from './block-frame.ts';
import { type LedgerCell, LedgerCells } from './delivery-ledger.ts';
import { freezeEntries, isUncertaintyMark } from './entry-resolver.ts';
import { systemFiles } from './file-layer.ts';
import { GroupCommit } from './group-commit.ts';
import { type LedgerQuery, matches } from './ledger-file.ts';
import { type BatchLimits, jsonBytesOf, type Lane, type OutboxBatch, RECORD_BYTES, type ResolvedEntry } from './outbox-batch.ts';
import { type OutboxDeps, type OutboxParts, openParts } from './outbox-parts.ts';
import { type EntryQuery, readEntries } from './outbox-reading.ts';
import { AppendRate, type OutboxStatus, readStatus } from './outbox-status.ts';
import type { RejectedEntry } from './rejected-file.ts';
import type { PlacedBlock } from './segment-shelf.ts';
import { SerialQueue } from './serial-queue.ts';
import type { TelemetryEntry } from './telemetry-entry.ts';

/** Acknowledgements gather this long before they are written; a crash re-sends no more than that. */
const SAVE_AFTER_MS = 1_000;
const MAINTAIN_EVERY_MS = 60_000;
/** The ledger's cells go to their file when an hour has passed, or when the delivery state grows with them. */
const FLUSH_AFTER_MS = 3_600_000;
const MOST_CELLS = 256;
const CLOSE_DEADLINE_MS = 5_000;

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #parts: OutboxParts;
  readonly #commit: GroupCommit;
  readonly #rate: AppendRate;
  readonly #listeners = new Set<() => void>();
  /** Everything that changes files, and everything that reads segments. */
  readonly #writing = new SerialQueue();
  readonly #reading = new SerialQueue();
  readonly #opened: { readonly atMs: number; readonly diskBytes: number };
  readonly #endTimeSync: () => void;
  #cancelSave: (() => void) | undefined;
  #cancelMaintenance: () => void = () => {};
  #flushedMs: number;
  #closed = false;

  private constructor(deps: OutboxDeps, parts: OutboxParts) {
    const { clock, log, settings, timeSync } = deps;
    this.#deps = deps;
    this.#parts = parts;
    this.#rate = new AppendRate(clock);
    this.#opened = { atMs: clock.monotonicMs(), diskBytes: parts.state.counters.diskBytes };
    this.#flushedMs = clock.monotonicMs();
    this.#commit = new GroupCommit({
      clock,
      log,
      builder: new BlockBuilder(parts.nextSequence),
      commitAgeMs: settings.commitAgeMs,
      commitEntries: settings.commitEntries,
      write: (blocks) => this.#writing.run(() => this.#write(blocks)),
      onCommitted: (blocks) => this.#onCommitted(blocks),
      onDropped: (count) => this.#count('dropped', count),
    });
    this.#endTimeSync = timeSync.onChange(() => this.#onClockChange());
    this.#maintainLater();
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

  /** Makes durable now what waits for its block; on a failing disk this may take for ever. */
  flush(): Promise<void> {
    return this.#commit.flush();
  }

  /** Calls back when entries became durable, or when the clock did and old ones can go; the returned function ends it. */
  onAppended(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What a lane has to send: whole blocks within the limits, at least one; undefined when there is nothing. Their times are final from now on. */
  peek(lane: Lane, limits: BatchLimits): Promise<OutboxBatch | undefined> {
    return this.#reading.run(async () => {
      for (;;) {
        const placed = await this.#parts.lanes.select(lane, limits.maxEntries);
        if (placed.length === 0) return undefined;
        const batch = await this.#batchOf(lane, placed, limits);
        // All of it was damaged, and is acknowledged now: look further.
        if (batch !== undefined) return batch;
      }
    });
  }

  /** The batch arrived: its blocks are not given out again, and are counted in the ledger. */
  async acknowledge(batch: OutboxBatch): Promise<void> {
    const { acknowledged, cells } = this.#parts.state;
    const isNew = !batch.ranges.some(([first, last]) => acknowledged.touches(first, last));
    let before: ResolvedEntry | undefined;
    for (const entry of batch.entries) {
      if (!isUncertaintyMark(entry, before) && (isNew || !acknowledged.has(entry.sequence))) cells.add(entry);
      before = entry;
    }
    for (const [first, last] of batch.ranges) acknowledged.add(first, last);
    this.#changed();
  }

  /** The platform refuses this one entry: it goes to `rejected` with the answer, and counts as acknowledged. */
  async reject(_batch: OutboxBatch, entry: ResolvedEntry | number, answer: string): Promise<void> {
    const refused = typeof entry === 'number' ? _batch.entries.find(({ sequence }) => sequence === entry) : entry;
    if (refused === undefined || this.#parts.state.acknowledged.has(refused.sequence)) return;
    await this.#writing
      .run(() => this.#parts.rejected.add(refused, answer, this.#deps.clock.wallMs()))
      .catch((error: unknown) => {
        // A full disk must not keep one bad entry in the way of all good ones.
        this.#deps.log.error({ key: refused.key, answer, err: error }, 'rejected entry cannot be kept');
      });
    this.#parts.state.acknowledged.add(refused.sequence, refused.sequence);
    this.#count('rejected', 1);
  }

  status(): OutboxStatus {
    const { lanes } = this.#parts;
    const { clock, settings } = this.#deps;
    const { minFreeBytes } = settings;
    const laneCounts = (): { alarm: number; live: number } => lanes.counts();
    return readStatus({ ...this.#parts, clock, minFreeBytes, laneCounts, commit: this.#commit, rate: this.#rate, opened: this.#opened });
  }

  /** Durable entries still on the disk, delivered or not, in ascending order of blocks; those without a known time are left out. */
  read(query: EntryQuery, signal: AbortSignal): AsyncIterable<ResolvedEntry> {
    return readEntries({ ...this.#parts, reading: this.#reading }, query, signal);
  }

  /** What was delivered, per key and hour. */
  async readLedger(query: LedgerQuery): Promise<readonly LedgerCell[]> {
    const cells = new LedgerCells();
    await this.#parts.ledger.read(query, cells);
    for (const cell of this.#parts.state.cells.list()) if (matches(cell, query)) cells.merge(cell);
    return cells.list();
  }

  rejected(): Promise<RejectedEntry[]> {
    return this.#parts.rejected.list();
  }

  /** Appends rejected entries again, with the times they had, and takes them off the list; returns how many. */
  async resendRejected(pick: (entry: RejectedEntry) => boolean): Promise<number> {
    const all = await this.#parts.rejected.list();
    const chosen = all.filter(pick);
    if (chosen.length === 0) return 0;
    const { bootId } = this.#deps.clock;
    const monotonicMs = this.#deps.clock.monotonicMs();
    await this.append(
      chosen.map(({ device, key, value, ts, class: own }) => ({ device, key, value, bootId, monotonicMs, takenAtMs: ts, class: own })),
    );
    await this.#writing.run(() => this.#parts.rejected.replace(all.filter((entry) => !pick(entry))));
    return chosen.length;
  }

  /** Commits what waits and writes what was acknowledged, within a deadline of its own. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelSave?.();
    this.#cancelMaintenance();
    this.#endTimeSync();
    await this.#commit.close(CLOSE_DEADLINE_MS);
    const finish = async (): Promise<void> => {
      const { state, boots, writer, shelf } = this.#parts;
      await boots.save().catch(() => {});
      await state.save({ durable: true }).catch(() => {});
      await writer.close().catch(() => {});
      await state.close().catch(() => {});
      await this.#reading.run(() => shelf.close()).catch(() => {});
    };
    const deadline = new AbortController();
    await Promise.race([this.#writing.run(finish), this.#deps.clock.sleep(CLOSE_DEADLINE_MS, deadline.signal)]);
    deadline.abort();
  }

  async #write(blocks: readonly FramedBlock[]): Promise<void> {
    const { retention, writer, boots } = this.#parts;
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    const hasRoom = await retention.makeRoom(size, (work) => this.#reading.run(work));
    if (!hasRoom && !blocks.some(({ info }) => info.alarm))
      throw new AgentError('outbox/full', 'the outbox is full, and set to drop the newest', { recovery: 'drop' });
    await writer.write(blocks).catch(async (error: unknown) => {
      if (systemCode(error) === 'ENOSPC') await this.#reading.run(() => retention.freeDelivered()).catch(() => {});
      throw error;
    });
    // A boot must be in the table before it has entries, so that boots stay in their order.
    if (boots.dirty) await boots.save().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'boot times cannot be written'));
  }

  #onCommitted(blocks: readonly FramedBlock[]): void {
    this.#parts.lanes.committed(blocks.map(({ info }) => info));
    this.#notify();
  }

  async #batchOf(lane: Lane, placed: readonly PlacedBlock[], limits: BatchLimits): Promise<OutboxBatch | undefined> {
    const { shelf, state, boots } = this.#parts;
    const read = await shelf.read(placed);
    const parts: { readonly entries: ResolvedEntry[]; readonly range: [number, number] }[] = [];
    let bytes = 0;
    // By bytes, too, what the lane would give first stays.
    const newestFirst = lane !== 'alarm' && this.#deps.settings.order === 'newest-first';
    for (let step = 0; step < placed.length; step += 1) {
      const at = newestFirst ? placed.length - 1 - step : step;
      const block = placed[at] as PlacedBlock;
      const { firstSequence, lastSequence, count } = block.info;
      const columns = read[at];
      if (columns === undefined) {
        state.acknowledged.add(firstSequence, lastSequence);
        this.#count('damaged', count);
        continue;
      }
      let entries = freezeEntries(boots, block, columns);
      if (state.acknowledged.touches(firstSequence, lastSequence))
        entries = entries.filter(({ sequence }) => !state.acknowledged.has(sequence));
      const size = jsonBytesOfAll(entries);
      if (parts.length > 0 && bytes + size > limits.maxBytes) break;
      bytes += size;
      parts.push({ entries, range: [firstSequence, lastSequence] });
    }
    if (boots.dirty) await boots.save().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'boot times cannot be written'));
    if (parts.length === 0) return undefined;
    parts.sort((a, b) => a.range[0] - b.range[0]);
    return { lane, entries: parts.flatMap(({ entries }) => entries), ranges: parts.map(({ range }) => range), bytes };
  }

  #onClockChange(): void {
    const { boots } = this.#parts;
    boots.refresh();
    void this.#writing.run(() => boots.save()).catch(() => {});
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #count(counter: 'dropped' | 'damaged' | 'rejected', count: number): void {
    this.#parts.state.counters[counter] += count;
    this.#changed();
  }

  #changed(): void {
    this.#parts.state.touch();
    if (this.#closed || this.#cancelSave !== undefined) return;
    this.#cancelSave = this.#deps.clock.after(SAVE_AFTER_MS, () => {
      this.#cancelSave = undefined;
      void this.#writing.run(() => this.#save());
    });
  }

  async #save(): Promise<void> {
    const { state, ledger } = this.#parts;
    const elapsedMs = this.#deps.clock.monotonicMs() - this.#flushedMs;
    try {
      if (state.cells.size > MOST_CELLS || (state.cells.size > 0 && elapsedMs > FLUSH_AFTER_MS)) {
        await ledger.add(state.flush + 1, state.cells.list());
        state.flush += 1;
        state.cells.clear();
        this.#flushedMs = this.#deps.clock.monotonicMs();
        state.touch();
      }
      await state.save();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'delivery state cannot be written; some entries may be sent again after a crash');
    }
  }

  #maintainLater(): void {
    if (this.#closed) return;
    this.#cancelMaintenance = this.#deps.clock.after(MAINTAIN_EVERY_MS, () => void this.#maintain().finally(() => this.#maintainLater()));
  }

  async #maintain(): Promise<void> {
    const { boots, retention } = this.#parts;
    boots.refresh();
    await this.#writing
      .run(async () => {
        await boots.save();
        await this.#reading.run(() => retention.expire());
        await this.#save();
      })
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'outbox housekeeping failed'));
  }
}

function jsonBytesOfAll(entries: readonly ResolvedEntry[]): number {
  let bytes = 0;
  let ts: number | undefined;
  for (const entry of entries) {
    bytes += jsonBytesOf(entry) + (entry.ts === ts ? 0 : RECORD_BYTES);
    ts = entry.ts;
  }
  return bytes;
}
