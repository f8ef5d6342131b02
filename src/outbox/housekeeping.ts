/** Work in the background: the delivery state is written soon after a change, the ledger each hour, and old segments are evicted. */
import { endedWithin } from '../host/bounded-wait.ts';
import type { Delivery } from './delivery/delivery.ts';
import type { OutboxParts } from './outbox-parts.ts';
import type { SerialQueue } from './segments/serial-queue.ts';

/**
 * Acknowledgements gather before they are written: this long, or this many entries when a backlog drains. A crash re-sends no more than
 * that. A file system journals the time of each changed file every few seconds, three blocks at a time, which at a few entries a second is
 * more than the entries themselves; so the state is written right after a commit, when the journal's next entry is due anyway.
 */
const SAVE_WITH_COMMIT_AFTER_MS = 20_000;
const SAVE_AFTER_MS = 30_000;
const SAVE_MANY_AFTER_MS = 1_000;
const MANY_ENTRIES = 2_000;
const MAINTAIN_EVERY_MS = 60_000;
/** Time for counting the entries of evicted segments before the last write; a disk that hangs is not waited for. */
const LAST_READS_WITHIN_MS = 1_000;

interface HousekeepingDeps extends Pick<OutboxParts, 'clock' | 'log' | 'boots' | 'reading' | 'shelf' | 'writer'> {
  readonly delivery: Pick<Delivery, 'state' | 'retention' | 'save' | 'isLedgerDue'>;
  readonly writing: SerialQueue;
  /** Told when it has looked after everything, about once a minute. */
  readonly onMaintained: () => void;
}

export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  #cancelSave: (() => void) | undefined;
  #unsavedEntries = 0;
  /** Something of the state is to be written without the record that it belongs to. */
  #isOwed = false;
  #savedMs: number;
  #cancelMaintenance: () => void = () => {};
  #closed = false;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    this.#savedMs = deps.clock.monotonicMs();
    this.#maintainLater();
  }

  /** The delivery state changed, by so many entries. */
  changed(entries: number): void {
    this.#deps.delivery.state.dirty = true;
    this.#isOwed = true;
    const wasFew = this.#unsavedEntries < MANY_ENTRIES;
    this.#unsavedEntries += entries;
    if (this.#closed) return;
    if (wasFew && this.#unsavedEntries >= MANY_ENTRIES) this.#saveAfter(SAVE_MANY_AFTER_MS);
    else if (this.#cancelSave === undefined) this.#saveAfter(SAVE_AFTER_MS);
  }

  /** Entries were committed: a good moment to write the delivery state, too. Some of them may have arrived meanwhile. */
  committed(): void {
    if (!this.#deps.delivery.state.dirty) return;
    const isDue = this.#deps.clock.monotonicMs() - this.#savedMs >= SAVE_WITH_COMMIT_AFTER_MS;
    if (isDue) this.#saveNow();
    else this.changed(0);
  }

  /** Writes the boot table when something in it changed; a disk that does not take it is tried again later. */
  async keepTimes(): Promise<void> {
    const { boots, log } = this.#deps;
    await boots.save().catch((error: unknown) => log.warn({ err: error }, 'boot times cannot be written'));
  }

  /** Ends the timers and writes what is to be kept; each step is tried, whatever became of the one before. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSave?.();
    this.#cancelMaintenance();
    const { clock, writer, shelf, reading, writing, delivery } = this.#deps;
    const lastRead = reading.run(async () => {});
    await endedWithin(clock, LAST_READS_WITHIN_MS, lastRead);
    await writing.run(async () => {
      await this.keepTimes();
      await delivery.state.save({ durable: true }).catch(() => {});
      await writer.close().catch(() => {});
      await delivery.state.close().catch(() => {});
    });
    await reading.run(() => shelf.close()).catch(() => {});
  }

  #saveAfter(ms: number): void {
    this.#cancelSave?.();
    this.#cancelSave = this.#deps.clock.after(ms, () => this.#saveNow());
  }

  #saveNow(): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    this.#savedMs = this.#deps.clock.monotonicMs();
    void this.#deps.writing.run(() => this.#save());
  }

  async #save(): Promise<void> {
    this.#unsavedEntries = 0;
    await this.#deps.delivery.save();
    this.#isOwed = this.#deps.delivery.state.dirty;
  }

  #maintainLater(): void {
    if (this.#closed) return;
    this.#cancelMaintenance = this.#deps.clock.after(
      MAINTAIN_EVERY_MS,
      () => void this.#maintain().finally(() => this.#maintainLater()),
    );
  }

  async #maintain(): Promise<void> {
    const { boots, reading, shelf, delivery, writing, log, onMaintained } = this.#deps;
    const failed = (error: unknown): void => log.warn({ err: error }, 'outbox housekeeping failed');
    boots.refresh();
    await reading.soon(() => delivery.retention.expire()).catch(failed);
    await writing
      .run(async () => {
        await this.keepTimes();
        const [oldest] = shelf.segments;
        // Entries that no segment holds any more are not sent again, asked or unasked.
        if (oldest !== undefined) delivery.state.undelivered.forgetBelow(oldest.firstSequence);
        if (this.#isOwed || delivery.isLedgerDue) await this.#save();
      })
      .catch(failed);
    onMaintained();
  }
}
