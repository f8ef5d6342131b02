/**
 * A log of which no message becomes a flood, whoever sets its pace: a person far away, a disk, a sensor. Of each message so many lines at once
 * and so many an hour, and of the others their number. A flood of one message takes no other's place.
 */
import type { Clock } from './clock.ts';
import type { LogLevel } from './log.ts';

export interface SummedLogDeps {
  /** Writes a line. */
  readonly tell: (level: LogLevel, fields: object, message: string) => void;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
}

/** Enough for a person who tries something by hand; at 150 bytes a line 3 kB. */
const MAX_AT_ONCE = 20;
/** In the long run: 120 an hour, 3 MB a week of each message that never ends. */
const ONE_EVERY_MS = 30_000;
const SUM_AFTER_MS = 600_000;
/** Messages are words of the program, with little of others in some: so many are known apart. */
const MAX_MESSAGES = 500;

interface Stream {
  readonly level: LogLevel;
  readonly message: string;
  /** When all that was told is paid for. */
  paidAtMs: number;
  untold: number;
  cancel?: () => void;
}

export class SummedLog {
  readonly #deps: SummedLogDeps;
  /** By level and message, the one that was told longest ago first. */
  readonly #streams = new Map<string, Stream>();

  constructor(deps: SummedLogDeps) {
    this.#deps = deps;
  }

  /** Tells the numbers that are left. Idempotent. */
  close(): void {
    for (const stream of this.#streams.values()) this.#sum(stream);
  }

  logMessage(level: LogLevel, fields: object, message: string): void {
    const { clock, tell } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (level === 'debug') {
      // Whoever asks for these wants all of them.
      tell(level, fields, message);
      return;
    }
    const stream = this.#streamOf(level, message);
    const paidAtMs = Math.max(stream.paidAtMs, nowMs) + ONE_EVERY_MS;
    if (paidAtMs - nowMs > MAX_AT_ONCE * ONE_EVERY_MS) {
      stream.untold += 1;
      stream.cancel ??= clock.after(SUM_AFTER_MS, () => this.#sum(stream));
    } else {
      stream.paidAtMs = paidAtMs;
      tell(level, fields, message);
    }
  }

  #streamOf(level: LogLevel, message: string): Stream {
    const name = `${level} ${message}`;
    const stream = this.#streams.get(name) ?? { level, message, paidAtMs: Number.NEGATIVE_INFINITY, untold: 0 };
    this.#streams.delete(name);
    this.#streams.set(name, stream);
    const [oldest] = this.#streams;
    if (this.#streams.size > MAX_MESSAGES && oldest !== undefined) {
      this.#streams.delete(oldest[0]);
      this.#sum(oldest[1]);
    }
    return stream;
  }

  #sum(stream: Stream): void {
    const { level, message, untold, cancel } = stream;
    cancel?.();
    delete stream.cancel;
    stream.untold = 0;
    if (untold > 0) this.#deps.tell(level, { message, times: untold }, 'more of the same');
  }
}
