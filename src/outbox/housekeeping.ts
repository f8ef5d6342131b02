/** What happens in the background: the delivery state is written soon after it changed, the ledger each hour, and old segments go. */
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { OutboxParts } from './outbox-parts.ts';
import type { SerialQueue } from './serial-queue.ts';

/** Acknowledgements gather this long before they are written; a crash re-sends no more than that. */
const SAVE_AFTER_MS = 1_000;
const MAINTAIN_EVERY_MS = 60_000;
/** The ledger's cells go to their file when an hour has passed, or when the delivery state grows with them. */
const FLUSH_AFTER_MS = 3_600_000;
const MOST_CELLS = 256;

export interface HousekeepingDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly parts: OutboxParts;
  readonly writing: SerialQueue;
  readonly reading: SerialQueue;
}

export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  #cancelSave: (() => void) | undefined;
  #cancelMaintenance: () => void = () => {};
  #flushedMs: number;
  #closed = false;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    this.#flushedMs = deps.clock.monotonicMs();
    this.#maintainLater();
  }

  /** The delivery state changed. */
  changed(): void {
    this.#deps.parts.state.touch();
    if (this.#closed || this.#cancelSave !== undefined) return;
    this.#cancelSave = this.#deps.clock.after(SAVE_AFTER_MS, () => {
      this.#cancelSave = undefined;
      void this.#deps.writing.run(() => this.#save());
    });
  }

  /** Writes the boot table when something in it changed; a disk that does not take it is tried again later. */
  async keepTimes(): Promise<void> {
    const { parts, log } = this.#deps;
    await parts.boots.save().catch((error: unknown) => log.warn({ err: error }, 'boot times cannot be written'));
  }

  /** Ends the timers and writes what is to be kept; each step is tried, whatever became of the one before. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSave?.();
    this.#cancelMaintenance();
    const { state, writer, shelf } = this.#deps.parts;
    const { writing, reading } = this.#deps;
    await writing.run(async () => {
      await this.keepTimes();
      await state.save({ durable: true }).catch(() => {});
      await writer.close().catch(() => {});
      await state.close().catch(() => {});
    });
    await reading.run(() => shelf.close()).catch(() => {});
  }

  async #save(): Promise<void> {
    const { parts, clock, log } = this.#deps;
    const { state, ledger } = parts;
    const elapsedMs = clock.monotonicMs() - this.#flushedMs;
    try {
      if (state.cells.size > MOST_CELLS || (state.cells.size > 0 && elapsedMs > FLUSH_AFTER_MS)) {
        // The lines first: a state that knows of a flush must find its lines.
        await ledger.add(state.flush + 1, state.cells.list());
        state.flush += 1;
        state.cells.clear();
        state.touch();
        this.#flushedMs = clock.monotonicMs();
      }
      await state.save();
    } catch (error) {
      log.warn({ err: error }, 'delivery state cannot be written; some entries may be sent again after a crash');
    }
  }

  #maintainLater(): void {
    if (this.#closed) return;
    this.#cancelMaintenance = this.#deps.clock.after(MAINTAIN_EVERY_MS, () => void this.#maintain().finally(() => this.#maintainLater()));
  }

  async #maintain(): Promise<void> {
    const { parts, writing, reading, log } = this.#deps;
    parts.boots.refresh();
    await writing
      .run(async () => {
        await this.keepTimes();
        await reading.run(() => parts.retention.expire());
        await this.#save();
      })
      .catch((error: unknown) => log.warn({ err: error }, 'outbox housekeeping failed'));
  }
}
