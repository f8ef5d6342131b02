/** The one file beneath the journal. Every call goes through the thread pool: a slow card makes it late, never the agent. */
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_MODE, readWhole, setAside, syncFolder } from '../host/durable-file.ts';

/** What the journal needs of a file; calls are made one after the other. */
export interface JournalStorage {
  /** The whole content, or undefined when there is none. Called once, first. */
  read(): Promise<Buffer | undefined>;
  /** Moves what is there out of the way, keeping it for a person. */
  setAside(): Promise<void>;
  /** Adds at the end; may be in memory only until `sync`. */
  append(bytes: Uint8Array): Promise<void>;
  /** What was appended survives a power cut once this resolves. */
  sync(): Promise<void>;
  /** Exchanges the whole content at once; durable when it resolves, and the old content stays whole until then. */
  replace(bytes: Uint8Array): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A journal larger than this is not ours: compaction keeps it far below. */
const LARGEST_FILE_BYTES = 32 * 1024 * 1024;

export class JournalFile implements JournalStorage {
  readonly #path: string;
  #file: FileHandle | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  read(): Promise<Buffer | undefined> {
    return readWhole(this.#path, LARGEST_FILE_BYTES);
  }

  async setAside(): Promise<void> {
    await this.close();
    await setAside(this.#path);
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#file ??= await open(this.#path, 'a', PRIVATE_MODE);
    await this.#file.appendFile(bytes);
  }

  async sync(): Promise<void> {
    await this.#file?.datasync();
  }

  async replace(bytes: Uint8Array): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    const file = await open(temporary, 'w', PRIVATE_MODE);
    try {
      await file.writeFile(bytes);
      await file.sync();
      await rename(temporary, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (cause) {
      await file.close();
      throw cause;
    }
    // The same handle goes on: a close and open in between would leave a moment in which an append finds no file.
    await this.#file?.close();
    this.#file = file;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
