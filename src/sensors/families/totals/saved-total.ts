/**
 * Number that survives restarts, in a file of its own: a count of pulses, an energy. It is written every `saveEvery` and at close, and shown as
 * it was written: a power cut loses what came since, and nothing that was shown steps back. What is added does not wait for the disk.
 */
import { join } from 'node:path';
import { messageOf } from '../../../errors/agent-error.ts';
import { endedWithin } from '../../../host/bounded-wait.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Files } from '../../../host/files.ts';
import type { Log } from '../../../host/log.ts';
import { joinedWhileUnderWay } from '../../../host/shared-work.ts';
import { readWhole } from '../../../host/whole-file.ts';
import { setAside, writeDurably } from '../../../store/durable-file.ts';
import { fieldsOf, sealJson } from '../../../store/sealed-json.ts';

const FORMAT = { format: 'turnstone-counter', version: 1 };
/** How long a start, and an end, wait for the disk. */
const DISK_HAS_MS = 1_000;
const LOAD_AGAIN_MS = 10_000;

export interface SavedTotalDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly saveEveryMs: number;
}

export class SavedTotal {
  /** Since it was made. */
  added = 0;
  readonly #folder: string;
  readonly #name: string;
  readonly #deps: SavedTotalDeps;
  /** Count that the file held; undefined until it has been read. */
  #before: number | undefined;
  #savedCount = 0;
  #savedForReadAtMs = Number.NEGATIVE_INFINITY;
  #cancelSave: (() => void) | undefined;
  #cancelLoad: () => void = () => {};
  readonly #loading = joinedWhileUnderWay(() => this.#load());
  #saving: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(folder: string, name: string, deps: SavedTotalDeps) {
    this.#folder = folder;
    this.#name = name;
    this.#deps = deps;
  }

  /** Undefined until it is known where it begins. */
  get count(): number | undefined {
    return this.#before === undefined ? undefined : this.#before + this.added;
  }

  /** Count as the disk has it; undefined until it has been read. */
  get kept(): number | undefined {
    return this.#before === undefined ? undefined : this.#savedCount;
  }

  get #path(): string {
    return join(this.#folder, `${this.#name}.json`);
  }

  /**
   * Begins where the file ends; a file that is none is quarantined and the count begins at 0. A disk that does not answer is not waited for,
   * and asked again until it does. Never rejects.
   */
  async load(): Promise<void> {
    await endedWithin(this.#deps.clock, DISK_HAS_MS, this.#loading());
  }

  add(amount: number): void {
    this.added += amount;
    this.#cancelSave ??= this.#deps.clock.after(this.#deps.saveEveryMs, () => {
      this.#cancelSave = undefined;
      void this.#save();
    });
  }

  /**
   * The count as the disk holds it, written now where `saveEvery` has passed since the last read that wrote. Undefined between those where
   * pulses came, while the disk does not take it, and until it is known where it begins. Never rejects.
   */
  async saved(): Promise<number | undefined> {
    const { count } = this;
    if (count === undefined) return undefined;
    const { clock, saveEveryMs } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (count !== this.#savedCount && nowMs - this.#savedForReadAtMs >= saveEveryMs) {
      this.#savedForReadAtMs = nowMs;
      this.#cancelSave?.();
      this.#cancelSave = undefined;
      await endedWithin(clock, DISK_HAS_MS, this.#save());
    }
    return this.#savedCount === count ? count : undefined;
  }

  /** Saves what is not saved yet, once the last pulse has come; what the disk does not take is lost. */
  async close(lastPulse: Promise<void> = Promise.resolve()): Promise<void> {
    this.#isClosed = true;
    await lastPulse.catch(() => {});
    this.#cancelSave?.();
    this.#cancelLoad();
    if (this.#before === undefined && this.added > 0) await this.load();
    await this.#save();
    await lastPulse;
  }

  async #load(): Promise<void> {
    const { files, clock, log } = this.#deps;
    try {
      const saved = await readWhole(files, this.#path);
      const count = saved === undefined ? 0 : parseTotal(saved.toString('utf8'));
      if (count === undefined) {
        const aside = await setAside(files, this.#path);
        log.error({ counter: this.#name, aside }, 'the saved total cannot be read; counting begins at 0');
      }
      this.#savedCount = count ?? 0;
      this.#before = this.#savedCount;
    } catch (error) {
      const told = { path: this.#path, reason: messageOf(error) };
      log.warn(told, 'the saved total is not known; pulses are counted, and added to it when it is');
      if (!this.#isClosed) this.#cancelLoad = clock.after(LOAD_AGAIN_MS, () => void this.load());
    }
  }

  /** One write at a time; a failed one is tried again with the next pulse. */
  async #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      const { count } = this;
      if (count === undefined || count === this.#savedCount) return;
      const { files, log } = this.#deps;
      try {
        await files.makeFolder(this.#folder);
        await writeDurably(files, this.#path, sealJson({ ...FORMAT, total: count }));
        this.#savedCount = count;
      } catch (error) {
        log.warn(
          { path: this.#path, reason: messageOf(error) },
          'the total cannot be saved, and is not reported until it is',
        );
      }
    });
    await this.#saving;
  }
}

function parseTotal(text: string): number | undefined {
  try {
    const { total } = fieldsOf(text, FORMAT);
    return Number.isFinite(total) ? Number(total) : undefined;
  } catch {
    return undefined;
  }
}
