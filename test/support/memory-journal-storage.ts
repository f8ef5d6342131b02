/** A journal's file in memory that knows what a power cut would leave: everything up to the last sync, and any part of the rest. */
import type { JournalStorage } from '../../src/rpc/journal-storage.ts';

export class MemoryJournalStorage implements JournalStorage {
  content: Buffer;
  synced: number;
  aside: Buffer | undefined;
  calls: string[] = [];
  /** Waited for by every sync. */
  beforeSync: () => Promise<void> = async () => {};
  /** Thrown by the next append. */
  failAppend: Error | undefined;

  constructor(content: Uint8Array = new Uint8Array()) {
    this.content = Buffer.from(content);
    this.synced = this.content.length;
  }

  async read(): Promise<Buffer | undefined> {
    return this.content.length === 0 ? undefined : this.content;
  }

  async setAside(): Promise<void> {
    this.aside = this.content;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.calls.push('append');
    if (this.failAppend !== undefined) {
      const error = this.failAppend;
      this.failAppend = undefined;
      // Half of it got through, as on a disk that fills up.
      this.content = Buffer.concat([this.content, bytes.subarray(0, Math.floor(bytes.length / 2))]);
      throw error;
    }
    this.content = Buffer.concat([this.content, bytes]);
  }

  async sync(): Promise<void> {
    await this.beforeSync();
    this.calls.push('sync');
    this.synced = this.content.length;
  }

  async replace(bytes: Uint8Array): Promise<void> {
    await this.beforeSync();
    this.calls.push('replace');
    this.content = Buffer.from(bytes);
    this.synced = this.content.length;
  }

  async close(): Promise<void> {}

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
}
