/**
 * One file's content on a disk in memory: as the process sees it, and what a power cut may make of it. Writes stand in place at once; what each of
 * them replaced is kept until a sync, so that a cut can take it back sector by sector.
 */

/** Disks keep or lose whole sectors. */
export const SECTOR_BYTES = 512;
const MIN_BYTES = 1_024;
const NOTHING = new Uint8Array(0);

interface Write {
  readonly position: number;
  readonly bytes: Uint8Array;
  /** Bytes that stood there, as far as the file reached. */
  readonly before: Uint8Array;
  readonly lengthBefore: number;
}

export class Content {
  mode = 0o640;
  /** Target of a link. */
  target: string | undefined;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #unsynced: Write[] = [];

  get length(): number {
    return this.#length;
  }

  /** As the process sees it; changes with the file. */
  get current(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  write(position: number, bytes: Uint8Array): void {
    const before =
      position >= this.#length ? NOTHING : Uint8Array.from(this.current.subarray(position, position + bytes.length));
    this.#unsynced.push({ position, bytes: Uint8Array.from(bytes), before, lengthBefore: this.#length });
    this.#set(position, bytes);
  }

  sync(): void {
    if (this.#unsynced.length > 0) this.#unsynced = [];
  }

  /** The length is durable at once; what was written before is no more so than it was. */
  truncate(bytes: number): void {
    if (bytes >= this.#length) return;
    this.#shrink(bytes);
    this.#unsynced = this.#unsynced
      .filter(({ position }) => position < bytes)
      .map((one) => ({
        position: one.position,
        bytes: one.bytes.subarray(0, bytes - one.position),
        before: one.before.subarray(0, bytes - one.position),
        lengthBefore: Math.min(one.lengthBefore, bytes),
      }));
  }

  /** The power goes: of what was not synced, each sector of each write is there or not, as `keeps` decides. */
  lose(keeps: () => boolean): void {
    const unsynced = this.#unsynced;
    this.#unsynced = [];
    for (const { position, before, lengthBefore } of unsynced.toReversed()) {
      this.#set(position, before);
      this.#shrink(lengthBefore);
    }
    for (const { position, bytes } of unsynced) {
      for (let from = 0; from < bytes.length; ) {
        const to = Math.min(bytes.length, from + SECTOR_BYTES - ((position + from) % SECTOR_BYTES));
        if (keeps()) this.#set(position + from, bytes.subarray(from, to));
        from = to;
      }
    }
  }

  #set(position: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const end = position + bytes.length;
    if (end > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(MIN_BYTES, 2 * this.#buffer.length, end));
      larger.set(this.current);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, position);
    this.#length = Math.max(this.#length, end);
  }

  /** Cuts the file; bytes beyond the end are zero, as a hole reads. */
  #shrink(length: number): void {
    if (length < this.#length) this.#buffer.fill(0, length, this.#length);
    this.#length = Math.min(this.#length, length);
  }
}
