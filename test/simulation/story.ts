/** Story of a world, in a person's words. Kept only as far as somebody may read it. */
import { TOKEN } from './site.ts';

export class Story {
  readonly #nowMs: () => number;
  /** Secret that the agent knows and nobody is to read. */
  secret = TOKEN;
  /** Shown as it happens. */
  show: ((line: string) => void) | undefined;

  /** Facts of the agent's log for the witness: the most lines in an hour, and the first that tells the secret. */
  readonly logged = { mostAnHour: 0, secret: undefined as string | undefined };
  #hour = { number: -1, lines: 0 };

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  tell(what: string): void {
    this.show?.(`${inWords(this.#nowMs())}  ${what}`);
  }

  /** A line of the agent's own log. */
  log(line: string): void {
    const number = Math.floor(this.#nowMs() / 3_600_000);
    if (number !== this.#hour.number) this.#hour = { number, lines: 0 };
    this.#hour.lines += 1;
    this.logged.mostAnHour = Math.max(this.logged.mostAnHour, this.#hour.lines);
    if (this.secret !== '' && line.includes(this.secret)) this.logged.secret ??= line.replaceAll(this.secret, '***');
    // Its own time is the board's, which may be wrong.
    this.show?.(`${inWords(this.#nowMs())}    ${line.trimEnd().replace(/"time":"[^"]*",/, '')}`);
  }
}

function inWords(ms: number): string {
  const s = ms / 1_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${two(s / 3_600)}:${two((s / 60) % 60)}:${(s % 60).toFixed(3).padStart(6, '0')}`;
}
