/** Cuts a stream of bytes into lines of bounded length: a sensor that lost its line end, or speaks at another speed, must not fill the memory. */

export class LineSplitter {
  readonly #delimiter: Buffer;
  readonly #longest: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #rest: Buffer = Buffer.alloc(0);
  /** Within a line that was too long: everything up to its end is dropped. */
  #skipping = false;

  /** @param options.longest in bytes, without the delimiter. */
  constructor(options: {
    readonly delimiter: string;
    readonly longest: number;
    readonly onLine: (line: string) => void;
    readonly onTooLong?: () => void;
  }) {
    this.#delimiter = Buffer.from(options.delimiter, 'utf8');
    this.#longest = options.longest;
    this.#onLine = options.onLine;
    this.#onTooLong = options.onTooLong ?? (() => {});
  }

  /** Takes a piece of any size; lines are decoded as UTF-8, bytes that are none become U+FFFD. */
  take(bytes: Uint8Array): void {
    let buffer = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    for (let end = buffer.indexOf(this.#delimiter); end >= 0; end = buffer.indexOf(this.#delimiter)) {
      const line = buffer.subarray(0, end);
      buffer = buffer.subarray(end + this.#delimiter.length);
      if (this.#skipping) this.#skipping = false;
      else if (line.length > this.#longest) this.#onTooLong();
      else this.#onLine(line.toString('utf8'));
    }
    // A delimiter may be cut in two: what could be its beginning is kept.
    if (buffer.length > this.#longest + this.#delimiter.length) {
      if (!this.#skipping) this.#onTooLong();
      this.#skipping = true;
      buffer = buffer.subarray(buffer.length - this.#delimiter.length + 1);
    }
    this.#rest = Buffer.from(buffer);
  }

  /** Forgets a line that was begun: the port was unplugged in the middle of it. */
  reset(): void {
    this.#rest = Buffer.alloc(0);
    this.#skipping = false;
  }
}
