/**
 * Cuts a stream of bytes into lines of bounded length: a sensor that lost its line end, or speaks at another speed, must not fill the memory.
 * Nobody opens a port just between two lines: what comes before the first line end may be the rest of a line, and is dropped.
 */

type LineEncoding = 'utf8' | 'latin1';

export class LineSplitter {
  readonly #delimiter: Buffer;
  readonly #encoding: LineEncoding;
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #rest: Buffer = Buffer.alloc(0);
  /** Within a line whose beginning is not known, or that was too long: everything up to its end is dropped. */
  #skipping = true;
  #hasTaken = false;

  /** @param options.maxBytes in bytes, without the delimiter. */
  constructor(options: {
    readonly delimiter: string;
    readonly encoding?: LineEncoding;
    readonly maxBytes: number;
    readonly onLine: (line: string) => void;
    readonly onTooLong?: () => void;
  }) {
    this.#delimiter = Buffer.from(options.delimiter, options.encoding ?? 'utf8');
    this.#encoding = options.encoding ?? 'utf8';
    this.#maxBytes = options.maxBytes;
    this.#onLine = options.onLine;
    this.#onTooLong = options.onTooLong ?? (() => {});
  }

  /** True when nothing has come since the beginning, or since `reset`. */
  get isSilent(): boolean {
    return !this.#hasTaken;
  }

  /** Takes a piece of any size; bytes that its encoding does not have become U+FFFD. */
  splitBytes(bytes: Uint8Array): void {
    this.#hasTaken = true;
    let buffer = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    for (let end = buffer.indexOf(this.#delimiter); end >= 0; end = buffer.indexOf(this.#delimiter)) {
      const line = buffer.subarray(0, end);
      buffer = buffer.subarray(end + this.#delimiter.length);
      if (this.#skipping) this.#skipping = false;
      else if (line.length > this.#maxBytes) this.#onTooLong();
      else this.#onLine(line.toString(this.#encoding));
    }
    // A delimiter may be cut in two: what could be its beginning is kept.
    if (buffer.length > this.#maxBytes + this.#delimiter.length) {
      if (!this.#skipping) this.#onTooLong();
      this.#skipping = true;
      buffer = buffer.subarray(buffer.length - this.#delimiter.length + 1);
    }
    this.#rest = Buffer.from(buffer);
  }

  /** Forgets a line that was begun: the port was unplugged in the middle of it, and comes back in the middle of another. */
  reset(): void {
    this.#rest = Buffer.alloc(0);
    this.#skipping = true;
    this.#hasTaken = false;
  }

  /** Takes the next bytes for the beginning of a line, as the sender speaks only when asked; unless it was heard speaking. */
  expectLine(): void {
    if (!this.#hasTaken) this.#skipping = false;
  }
}
