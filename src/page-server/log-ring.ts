/** The newest log lines, for the status page. A line passes the log's filter of secrets when it is written, and once more when it is shown. */

export interface LogSource {
  /** Calls back with every finished line; the returned function ends it. */
  onLine(listener: (line: string) => void): () => void;
  redact(text: string): string;
}

/** With lines cut at the next two constants together: at most 150 kB. */
const MAX_LINES = 200;
const MAX_LINE_LENGTH = 500;
/** Kept beyond what is shown: of a secret that is cut, nobody would know what it is. */
const MAX_SECRET_LENGTH = 256;

export class LogRing {
  readonly #source: LogSource;
  readonly #end: () => void;
  /** A line's number is its place since the start. */
  #lines: string[] = [];
  #next = 0;

  constructor(source: LogSource) {
    this.#source = source;
    this.#end = source.onLine((line) => {
      this.#lines.push(line.trimEnd().slice(0, MAX_LINE_LENGTH + MAX_SECRET_LENGTH));
      this.#next += 1;
      if (this.#lines.length > MAX_LINES) this.#lines = this.#lines.slice(-MAX_LINES / 2);
    });
  }

  /** The number that the next line will have. */
  get next(): number {
    return this.#next;
  }

  /** Number of the oldest line that is kept. */
  get first(): number {
    return this.#next - this.#lines.length;
  }

  /** Lines `[from, to)` by their numbers, as far as they are kept. */
  between(from: number, to: number): readonly string[] {
    const { first } = this;
    const asked = this.#lines.slice(Math.max(0, from - first), Math.max(0, to - first));
    return asked.map((line) => this.#source.redact(line).slice(0, MAX_LINE_LENGTH));
  }

  close(): void {
    this.#end();
    this.#lines = [];
  }
}
