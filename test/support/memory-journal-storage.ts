/** A disk that holds a journal's file alone, and knows what a power cut would leave: everything up to the last sync, and any part of the rest. */
import type { Files, OpenFile } from '../../src/host/files.ts';
import { JournalFile } from '../../src/rpc/journal-file.ts';

const PATH = '/state/rpc-journal.jsonl';

export class MemoryJournalStorage {
  content: Buffer;
  synced: number;
  aside: Buffer | undefined;
  calls: string[] = [];
  /** Waited for by every sync. */
  beforeSync: () => Promise<void> = async () => {};
  /** Thrown by the next append. */
  failAppend: Error | undefined;
  /** What the next file is to become, as it is written beside the present one. */
  #beside = Buffer.alloc(0);

  constructor(content: Uint8Array = new Uint8Array()) {
    this.content = Buffer.from(content);
    this.synced = this.content.length;
  }

  /** The journal's file on this disk. */
  get file(): JournalFile {
    // Nothing else is asked for.
    return new JournalFile(this.#files as Partial<Files> as Files, PATH);
  }

  async read(): Promise<Buffer> {
    return this.content;
  }

  /** Returns the storage as a killed process leaves it: with all that was written. */
  afterKill(): MemoryJournalStorage {
    return new MemoryJournalStorage(this.content);
  }

  /** Returns the storage as a power cut leaves it. */
  afterPowerCut(keptUnsynced = 0): MemoryJournalStorage {
    return new MemoryJournalStorage(
      this.content.subarray(0, Math.min(this.content.length, this.synced + keptUnsynced)),
    );
  }

  readonly #files: Partial<Files> = {
    makeFolder: async () => {},
    syncFolder: async () => {},
    facts: async () =>
      this.content.length === 0 ? undefined : { kind: 'file', bytes: this.content.length, mode: 0o600 },
    open: async (path, mode) => {
      if (mode === 'read') return this.#fileToRead(await this.read());
      return path === PATH ? this.#presentFile : this.#fileBeside;
    },
    rename: async (from) => {
      if (from === PATH) {
        this.aside = this.content;
        this.content = Buffer.alloc(0);
        return;
      }
      this.calls.push('replace');
      this.content = this.#beside;
      this.synced = this.content.length;
    },
  };

  readonly #presentFile = {
    read: async (into: Uint8Array, from: number) => this.content.copy(into, 0, from),
    write: async (bytes: Uint8Array) => {
      this.calls.push('append');
      const error = this.failAppend;
      this.failAppend = undefined;
      // Half of it gets through, as on a disk that fills up.
      const through = error === undefined ? bytes : bytes.subarray(0, Math.floor(bytes.length / 2));
      this.content = Buffer.concat([this.content, through]);
      if (error !== undefined) throw error;
    },
    datasync: async () => {
      await this.beforeSync();
      this.calls.push('sync');
      this.synced = this.content.length;
    },
    size: async () => this.content.length,
    truncate: async (bytes: number) => {
      this.content = this.content.subarray(0, bytes);
    },
    close: async () => {},
  } satisfies OpenFile;

  #fileToRead(content: Buffer): OpenFile {
    return { ...this.#presentFile, read: async (into, from) => content.copy(into, 0, from) };
  }

  // Nothing else is asked for.
  readonly #fileBeside = {
    write: async (bytes: Uint8Array) => {
      this.#beside = Buffer.from(bytes);
    },
    datasync: () => this.beforeSync(),
    close: async () => {},
  } as Partial<OpenFile> as OpenFile;
}
