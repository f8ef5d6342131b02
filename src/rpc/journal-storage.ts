/** The one file beneath the journal. Every call goes through the thread pool: a slow card makes it late, never the agent. */

import type { Files, OpenFile } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import { PRIVATE_MODE, replaceContent, setAside } from '../store/durable-file.ts';

/** File operations that the journal needs; calls are made one after the other. */
export type JournalStorage = Pick<JournalFile, keyof JournalFile>;

/** A journal larger than this is not ours: compaction keeps it far below. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

export class JournalFile {
  readonly #files: Files;
  readonly #path: string;
  #file: OpenFile | undefined;

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** The whole content, or undefined when there is none. Called once, first. */
  read(): Promise<Buffer | undefined> {
    return readWhole(this.#files, this.#path, { limitBytes: MAX_FILE_BYTES });
  }

  /** Moves what is there out of the way, keeping it for a person. */
  async setAside(): Promise<void> {
    await this.close();
    await setAside(this.#files, this.#path);
  }

  /** Adds at the end, perhaps in memory only until `sync`. Where the file ends is asked each time: a write that failed may have left a part of itself. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#file ??= await this.#files.open(this.#path, 'keep', { mode: PRIVATE_MODE });
    await this.#file.write(bytes, await this.#file.size());
  }

  /** Makes appended bytes survive a power cut. */
  async sync(): Promise<void> {
    await this.#file?.datasync();
  }

  /**
   * Exchanges the whole content at once; durable when it resolves, and the old content stays whole until then. The new file stays open: a close
   * and open in between would leave a moment in which an append finds no file.
   */
  async replace(bytes: Uint8Array): Promise<void> {
    const file = await replaceContent(this.#files, this.#path, bytes, PRIVATE_MODE);
    await this.#file?.close();
    this.#file = file;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
