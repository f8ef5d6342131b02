/**
 * A small JSON file that follows a value in memory: the latest state is written soon, whole, and never in the caller's way. A write that fails
 * is tried again until it is on disk. Content that is no state is quarantined as `*.corrupt`, and so is, before anything is written in its place,
 * a file that could not be read. A file that holds less than is known and must not be believed is renamed as `*.behind`, when it has a mark.
 */
import { messageOf, retryable } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { Backoff } from '../host/backoff.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { type Files, mayBeThereNow, undefinedWhenMissing } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { isPassing, readPatiently } from '../host/patient-read.ts';
import { isJsonObject, type JsonObject, OWN_JSON } from '../values/json.ts';
import { behindPath, disown, mayBeSetAside, removeDurably, setAside, writeDurably } from './durable-file.ts';
import { fieldsOf, isSealed, type StateFormat, sealJson } from './sealed-json.ts';

export interface StateFileDeps extends StateFormat {
  readonly path: string;
  readonly log: Log;
  readonly files: Files;
  readonly clock: Clock;
  /**
   * A path in the run folder. It is there while the disk holds less than this process knows: whoever reads the file after it finds it whole,
   * and must not believe it. What is to outlive a boot too is the file's own name.
   */
  readonly behindMark?: string;
  /** Told, for a day, that an earlier run left more than is known. */
  readonly alerts?: Alerts;
}

/** A start does without a state that a disk does not give in this time. */
const READ_WITHIN_MS = 10_000;
/** Written and read alike. An answer of the platform, of which a part may be kept, has at most half of it. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A write that takes longer may never end. */
const BEHIND_AFTER_MS = 1_000;
const TOLD_FOR_MS = 86_400_000;
const WRITE_AGAIN = { firstMs: 1_000, maxMs: 60_000 };

export class StateFile {
  readonly #deps: StateFileDeps;
  readonly #backoff: Backoff;
  #next: JsonObject | undefined;
  #writing: Promise<void> | undefined;
  #cancelRetry: (() => void) | undefined;
  #cancelAlert: (() => void) | undefined;
  #isLate = false;
  #closed = false;
  #isLost = false;
  #liesUnread = false;
  /** True when the mark is there; undefined while nobody has looked. */
  #isMarked: boolean | undefined;
  /** True when the file has the name of one that is not believed. */
  #isDisowned = false;

  constructor(deps: StateFileDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(WRITE_AGAIN, deps.clock);
  }

  /** True when an earlier run left a state that `read` could not read, or not the last one: nothing may be concluded from missing values. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** True when an unreadable file still lies there, until something is saved: the next process may read it. */
  get liesUnread(): boolean {
    return this.#liesUnread;
  }

  /** True when the state that was saved last is durable. */
  get isSaved(): boolean {
    return this.#next === undefined && this.#writing === undefined;
  }

  /** The state of an earlier run; undefined when there is none, or none that can be read and understood. Never rejects. */
  async read(): Promise<JsonObject | undefined> {
    const { path, files, behindMark } = this.#deps;
    if (behindMark !== undefined) {
      this.#isMarked = mayBeThereNow(files, behindMark);
      this.#isLost = this.#isMarked;
    }
    try {
      const bytes = await this.#readInTime();
      if (this.#isLost) this.#tellLost('does not hold what was known last');
      return bytes === undefined ? undefined : this.#stateIn(bytes);
    } catch (error) {
      this.#isLost = true;
      this.#liesUnread = isPassing(error);
      this.#tellLost(this.#liesUnread ? 'cannot be read now' : 'cannot be used and is set aside', error);
      if (!this.#liesUnread) await setAside(files, path).catch(() => {});
      return undefined;
    }
  }

  /** Has the state written soon; states that come faster than the disk are skipped, the last one never. */
  save(state: JsonObject): void {
    this.#next = state;
    if (this.#isLate) this.#mark(true);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when the last saved state is durable, or was tried once more. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#next === undefined) return;
    this.#writing ??= this.#writeAll();
    await this.#writing;
  }

  /** Flushes, and tries nothing later. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    this.#cancelRetry?.();
    this.#cancelAlert?.();
  }

  #tellLost(what: string, error?: unknown): void {
    const { path, log, alerts, clock } = this.#deps;
    log.error({ file: path, error: error === undefined ? undefined : messageOf(error) }, `a state file ${what}`);
    // A disk that gives nothing now is told by whoever waits for it, and the file may be whole.
    if (alerts === undefined || this.#liesUnread) return;
    alerts.raise(`lost ${path}`, `${path} ${what}: what it may have told counts as unknown`);
    this.#cancelAlert = clock.after(TOLD_FOR_MS, () => alerts.clear(`lost ${path}`));
  }

  #readInTime(): Promise<Buffer | undefined> {
    const { path, clock } = this.#deps;
    const hangs = (): never => {
      throw retryable('host/read-failed', `cannot read ${path}: no answer`);
    };
    return outcomeWithin(clock, READ_WITHIN_MS, () => this.#readEither(), hangs);
  }

  async #readEither(): Promise<Buffer | undefined> {
    const { path, behindMark } = this.#deps;
    const believed = await readPatiently(this.#deps, path, MAX_BYTES);
    if (believed !== undefined) return believed;
    // The process that quarantined it may have ended before anything was written in its place.
    this.#isLost ||= await mayBeSetAside(this.#deps.files, path);
    if (behindMark === undefined) return undefined;
    // Also one that cannot be read shows that there was more.
    this.#isDisowned = true;
    const behind = await readPatiently(this.#deps, behindPath(path), MAX_BYTES);
    this.#isDisowned = behind !== undefined;
    this.#isLost ||= this.#isDisowned;
    return behind;
  }

  #stateIn(bytes: Buffer): JsonObject {
    const text = bytes.toString('utf8');
    const { state } = fieldsOf(text, this.#deps, OWN_JSON);
    if (!isSealed(text)) throw new Error('it has no check value');
    return isJsonObject(state) ? state : {};
  }

  async #writeAll(): Promise<void> {
    const { path, format, version, log, files } = this.#deps;
    this.#cancelRetry?.();
    while (this.#next !== undefined) {
      const state = this.#next;
      this.#next = undefined;
      const cancel = this.#deps.clock.after(BEHIND_AFTER_MS, () => {
        this.#isLate = true;
        this.#mark(true);
      });
      try {
        const content = Buffer.from(sealJson({ format, version, state }));
        if (content.length > MAX_BYTES) {
          log.error({ file: path, bytes: content.length }, 'a state is too large to be kept; the file stays as it was');
          await this.#fallBehind();
          continue;
        }
        if (this.#liesUnread) await setAside(files, path).catch(undefinedWhenMissing);
        this.#liesUnread = false;
        await writeDurably(files, path, content);
        if (this.#backoff.attempts > 0) log.info({ file: path }, 'a state file is written again');
        this.#backoff.reset();
        // Beside what is believed it says nothing.
        if (this.#isDisowned) await removeDurably(files, behindPath(path)).catch(() => {});
        this.#isDisowned = false;
        if (this.#next === undefined) this.#mark(false);
      } catch (error) {
        await this.#fallBehind();
        // A state that came meanwhile is newer.
        this.#next ??= state;
        this.#writeLater(error);
        break;
      } finally {
        cancel();
        this.#isLate = false;
      }
    }
    this.#writing = undefined;
  }

  async #fallBehind(): Promise<void> {
    const { path, files, behindMark, log } = this.#deps;
    this.#mark(true);
    if (behindMark === undefined || this.#isDisowned) return;
    try {
      await disown(files, path);
      this.#isDisowned = true;
    } catch (error) {
      log.warn({ file: path, error: messageOf(error) }, 'a state file that is behind could not be renamed');
    }
  }

  #mark(isBehind: boolean): void {
    const { behindMark, files, log } = this.#deps;
    if (behindMark === undefined || this.#isMarked === isBehind) return;
    try {
      if (isBehind) files.writeNow(behindMark, '');
      else files.unlinkNow(behindMark);
      this.#isMarked = isBehind;
    } catch (error) {
      log.warn({ file: behindMark, error: messageOf(error) }, 'whether a state file is behind could not be noted');
    }
  }

  #writeLater(error: unknown): void {
    const { path, log, clock } = this.#deps;
    if (this.#backoff.attempts === 0)
      log.warn({ file: path, error: messageOf(error) }, 'a state file was not written and is tried again');
    if (this.#closed) return;
    this.#cancelRetry = clock.after(this.#backoff.nextMs(), () => {
      if (this.#next !== undefined) this.#writing ??= this.#writeAll();
    });
  }
}
