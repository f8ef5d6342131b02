/**
 * Writes frames in order, one call to the storage at a time; what arrives meanwhile goes out together, under one sync. After a failed write, whose
 * half-written frame may have done anything to the end of the file, or when more is to be written than may wait, the whole file is rewritten.
 */
import type { Clock } from '../host/clock.ts';
import { encodeFrame, type Frame } from './journal-frames.ts';
import type { JournalStorage } from './journal-storage.ts';

export interface JournalWriterDeps {
  readonly storage: JournalStorage;
  readonly clock: Clock;
  /** The whole file as it would be rewritten. */
  readonly content: () => Buffer;
  /** The file is rewritten after this much was added. */
  readonly compactAboveBytes: number;
  /** True when nothing may be added to the present file. */
  readonly beginAnew: boolean;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly sync: boolean;
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bytes that may wait for a storage that is slow or hangs; past it the whole file is written, which holds them, too. */
const MAX_WAITING_BYTES = 256 * 1024;

export class JournalWriter {
  readonly #deps: JournalWriterDeps;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
  #busySinceMs: number | undefined;
  #bytes = 0;
  #unsynced = false;
  #rewrite: boolean;

  constructor(deps: JournalWriterDeps) {
    this.#deps = deps;
    this.#rewrite = deps.beginAnew;
  }

  /** How long the storage has been at its present call; 0 when idle. */
  busyForMs(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    return nowMs - (this.#busySinceMs ?? nowMs);
  }

  /** Resolves when the frame is written, and synced when asked for; at once when it needs no sync and too much waits. Rejects with the storage's own error. */
  write(frame: Frame, options: { readonly sync: boolean }): Promise<void> {
    return this.#queue(encodeFrame(frame), options.sync);
  }

  /** Resolves when everything written so far is synced. */
  async flush(): Promise<void> {
    await this.#running;
    if (this.#waiting.length > 0 || this.#unsynced || this.#rewrite) await this.#queue(Buffer.alloc(0), true);
  }

  #queue(bytes: Buffer, sync: boolean): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last !== undefined && this.#waitingBytes >= MAX_WAITING_BYTES) {
      // The whole file is durable once it is there.
      this.#rewrite = true;
      // Whoever needs no sync is not to wait in their thousands.
      return sync ? last.written : Promise.resolve();
    }
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, sync, written, resolve, reject });
    this.#waitingBytes += bytes.length;
    this.#running ??= this.#run();
    return written;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
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
    const { storage, content, compactAboveBytes } = this.#deps;
    const bytes = Buffer.concat(batch.map((waiting) => waiting.bytes));
    if (this.#rewrite || this.#bytes > compactAboveBytes) {
      // The content holds what this batch says already: entries are put in memory before they are written.
      const whole = content();
      // A frame that comes while the file is rewritten may ask for another rewrite.
      this.#rewrite = false;
      await this.#timed(() => storage.replace(whole));
      this.#bytes = 0;
      this.#unsynced = false;
      return;
    }
    if (bytes.length > 0) await this.#timed(() => storage.append(bytes));
    this.#bytes += bytes.length;
    this.#unsynced = true;
    if (!batch.some((waiting) => waiting.sync)) return;
    await this.#timed(() => storage.sync());
    this.#unsynced = false;
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
