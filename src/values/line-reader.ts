/** Cuts a stream of bytes into lines, and gives up on one that is too long before it fills the memory. */

const LINE_FEED = 0x0a;
/** First size of the buffer of a line under way; it doubles as the line grows. */
const FIRST_BYTES = 1024;

export class LineReader {
  readonly #limitBytes: number;
  /** The line under way, copied: a piece of one byte would keep the whole buffer it came in. */
  #held: Buffer = Buffer.alloc(0);
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** How much of a line under way has come. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The lines that these bytes complete; undefined when the line under way has grown past the limit. */
  readLines(bytes: Buffer): readonly string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      if (this.#heldBytes + end - from > this.#limitBytes) return undefined;
      lines.push(
        this.#heldBytes === 0 ? bytes.toString('utf8', from, end) : this.#completed(bytes.subarray(from, end)),
      );
      from = end + 1;
    }
    const rest = bytes.subarray(from);
    if (this.#heldBytes + rest.length > this.#limitBytes) return undefined;
    this.#hold(rest);
    return lines;
  }

  #completed(end: Buffer): string {
    this.#hold(end);
    const line = this.#held.toString('utf8', 0, this.#heldBytes);
    this.#held = Buffer.alloc(0);
    this.#heldBytes = 0;
    return line;
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const needed = this.#heldBytes + bytes.length;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(
        Math.max(FIRST_BYTES, Math.min(this.#limitBytes, Math.max(needed, this.#held.length * 2))),
      );
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes = needed;
  }
}
