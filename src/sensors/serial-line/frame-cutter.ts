/**
 * Cuts a stream of bytes into frames: from their first bytes on, as long as they are or say, or up to their last bytes. A frame that turns out
 * damaged may have begun within another one: the search goes on behind its first byte. Bounded as lines are, and in time: a flood of beginnings is
 * not checked from each of them to the end.
 */
import type { FrameConfig } from '../../config/fields/frames.ts';
import { bytesOfHex } from '../../config/fields/request-text.ts';

/** So many damaged frames in a row, and the last of them is passed over as a whole: each byte is checked at most so often. */
const MAX_DAMAGED = 16;

interface FrameCutterOptions {
  readonly frame: FrameConfig;
  readonly maxBytes: number;
  /** Takes a frame. Returns false for a damaged one. */
  readonly onFrame: (frame: Buffer) => boolean;
  readonly onTooLong: () => void;
}

export class FrameCutter {
  readonly #options: FrameCutterOptions;
  readonly #start: Buffer;
  readonly #end: Buffer | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #hasTaken = false;
  /** Damaged frames in a row. */
  #damaged = 0;

  constructor(options: FrameCutterOptions) {
    const { start = '', end } = options.frame;
    this.#options = options;
    this.#start = bytesOfHex(start);
    this.#end = end === undefined ? undefined : bytesOfHex(end);
  }

  /** True when nothing has come since the beginning, or since `reset`. */
  get isSilent(): boolean {
    return !this.#hasTaken;
  }

  /** Takes a piece of any size. */
  splitBytes(bytes: Uint8Array): void {
    this.#hasTaken = true;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#cutOne()) {}
  }

  reset(): void {
    this.#rest = Buffer.alloc(0);
    this.#hasTaken = false;
  }

  /** Drops what is left of an earlier answer. */
  expectLine(): void {
    this.#rest = Buffer.alloc(0);
  }

  /** Returns true when something was taken off. */
  #cutOne(): boolean {
    const { maxBytes, onFrame, onTooLong } = this.#options;
    const begin = this.#rest.indexOf(this.#start);
    if (begin < 0) {
      // The beginning may be cut in two.
      this.#rest = this.#rest.subarray(Math.max(0, this.#rest.length - this.#start.length + 1));
      return false;
    }
    this.#rest = this.#rest.subarray(begin);
    const length = this.#length();
    if (length === undefined || length > this.#rest.length) {
      if ((length ?? this.#rest.length) <= maxBytes) return false;
      onTooLong();
      this.#rest = this.#rest.subarray(1);
      return true;
    }
    if (length > maxBytes) onTooLong();
    const isGood = length <= maxBytes && onFrame(this.#rest.subarray(0, length));
    this.#damaged = isGood ? 0 : this.#damaged + 1;
    this.#rest = this.#rest.subarray(this.#damaged % MAX_DAMAGED === 0 ? length : 1);
    return this.#rest.length > 0;
  }

  /** Length of the frame that begins here; undefined while it cannot be told. */
  #length(): number | undefined {
    const { length, tail = 0 } = this.#options.frame;
    if (this.#end !== undefined) {
      const end = this.#rest.indexOf(this.#end, Math.max(1, this.#start.length));
      return end < 0 ? undefined : end + this.#end.length + tail;
    }
    if (typeof length === 'number' || length === undefined) return length;
    const width = length.type === 'uint8' ? 1 : 2;
    if (this.#rest.length < length.at + width) return undefined;
    const said =
      length.order === 'little' ? this.#rest.readUIntLE(length.at, width) : this.#rest.readUIntBE(length.at, width);
    return Math.max(said + length.add, length.at + width);
  }
}
