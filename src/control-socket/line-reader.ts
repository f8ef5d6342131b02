/** Cuts a stream of bytes into lines, and gives up on one that is too long before it fills the memory. */

const LINE_FEED = 0x0a;

export class LineReader {
  readonly #limitBytes: number;
  #parts: Buffer[] = [];
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The lines that these bytes complete; undefined when the line under way has grown past the limit. */
  take(bytes: Buffer): readonly string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      if (this.#heldBytes + end - from > this.#limitBytes) return undefined;
      lines.push(Buffer.concat([...this.#parts, bytes.subarray(from, end)]).toString('utf8'));
      this.#parts = [];
      this.#heldBytes = 0;
      from = end + 1;
    }
    if (from < bytes.length) {
      this.#parts.push(bytes.subarray(from));
      this.#heldBytes += bytes.length - from;
    }
    return this.#heldBytes > this.#limitBytes ? undefined : lines;
  }
}
