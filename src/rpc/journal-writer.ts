/**
 * Writes records in order, one call to the file at a time; what arrives meanwhile goes out together, under one sync. When more is to be written
 * than may wait, the whole file is rewritten.
 */
import type { Clock } from '../host/clock.ts';
import type { JournalFile, JournalRecord } from './journal-file.ts';

export interface JournalWriterDeps {
  readonly file: Pick<JournalFile, 'append' | 'replace'>;
  readonly clock: Clock;
  /** Makes all records of the file as it would be rewritten; those that wait are among them. */
  readonly inForce: () => readonly JournalRecord[];
  /** True when nothing may be added to the present file. */
  readonly beginAnew: boolean;
}

interface Waiting {
  /** Undefined where all that was written is to be synced, and nothing is added. */
  readonly record: JournalRecord | undefined;
  readonly sync: boolean;
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Records that may wait for a disk that is slow or hangs; past it the whole file is written, which holds them, too. */
const MAX_WAITING = 250;

export class JournalWriter {
  readonly #deps: JournalWriterDeps;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #busySinceMs: number | undefined;
  #unsynced = false;
  #rewrite: boolean;

  constructor(deps: JournalWriterDeps) {
    this.#deps = deps;
    this.#rewrite = deps.beginAnew;
  }

  /** How long the disk has been at its present call; 0 when idle. */
  busyForMs(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    return nowMs - (this.#busySinceMs ?? nowMs);
  }

  /** Resolves when the record is written, and synced when asked for; at once when it needs no sync and too much waits. Rejects with the disk's own error. */
  write(record: JournalRecord, options: { readonly sync: boolean }): Promise<void> {
    return this.#queue(record, options.sync);
  }

  /** Resolves when everything written so far is synced. */
  async flush(): Promise<void> {
    await this.#running;
    if (this.#waiting.length > 0 || this.#unsynced || this.#rewrite) await this.#queue(undefined, true);
  }

  #queue(record: JournalRecord | undefined, sync: boolean): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last !== undefined && this.#waiting.length >= MAX_WAITING) {
      // The whole file is durable once it is there.
      this.#rewrite = true;
      // Whoever needs no sync is not to wait in their thousands.
      return sync ? last.written : Promise.resolve();
    }
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ record, sync, written, resolve, reject });
    this.#running ??= this.#run();
    return written;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#store(batch);
        for (const waiting of batch) waiting.resolve();
      } catch (error) {
        this.#rewrite = true;
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#running = undefined;
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { file, inForce } = this.#deps;
    if (this.#rewrite) {
      // The rewrite holds this batch already: entries are in memory before they are written.
      const whole = inForce();
      // A record that comes while the file is rewritten may ask for another rewrite.
      this.#rewrite = false;
      await this.#timed(() => file.replace(whole));
      this.#unsynced = false;
      return;
    }
    const records = batch.flatMap(({ record }) => record ?? []);
    const isDurable = batch.some(({ sync }) => sync);
    await this.#timed(() => file.append(records, { isDurable, inForce }));
    this.#unsynced = !isDurable;
  }

  async #timed(call: () => Promise<void>): Promise<void> {
    this.#busySinceMs = this.#deps.clock.monotonicMs();
    try {
      await call();
    } finally {
      this.#busySinceMs = undefined;
    }
  }
}
