/**
 * Time since boot with what the board was suspended for. Node's monotonic clock stands still then (CLOCK_MONOTONIC); what the kernel calls uptime
 * does not (CLOCK_BOOTTIME), but it is a file that is told in hundredths of a second. It is read where the wall clock has gone on by itself.
 */

/** A timer of the process stands still while the board is suspended: longer ones look at the clock this often. */
export const LOOK_AGAIN_MS = 10_000;

/** The machine's own clocks, ms. */
export interface BootClocks {
  /** CLOCK_MONOTONIC: since boot, without suspension. */
  awakeMs(): number;
  /** CLOCK_REALTIME. */
  wallMs(): number;
  /** CLOCK_BOOTTIME, in steps of 10 ms. */
  uptimeMs(): number;
}

/** The wall clock is slewed by less than that between two looks, and a suspension is longer. */
const APART_MS = 500;

/** Two clocks read with more than this between them tell nothing: the process was held up. */
const LOOK_WITHIN_MS = 50;

export class TimeSinceBoot {
  readonly #clocks: BootClocks;
  #sleptMs = 0;
  /** Wall minus awake as it was last seen, ms. */
  #offsetMs: number;

  constructor(clocks: BootClocks) {
    this.#clocks = clocks;
    this.#offsetMs = clocks.wallMs() - clocks.awakeMs();
    this.#countSleep();
  }

  /** With a fraction; never goes back. A suspension is counted once it is over, to 10 ms. */
  ms(): number {
    const awakeMs = this.#clocks.awakeMs();
    const offsetMs = this.#clocks.wallMs() - awakeMs;
    if (Math.abs(offsetMs - this.#offsetMs) > APART_MS) {
      // Where the looks lay too far apart nothing was learned, and the next call looks again.
      if (this.#countSleep()) this.#offsetMs = offsetMs;
    }
    return awakeMs + this.#sleptMs;
  }

  /** Converts a recent time of the monotonic clock, with which the kernel stamps, to this one. */
  of(awakeMs: number): number {
    return this.ms() - (this.#clocks.awakeMs() - awakeMs);
  }

  /** Calls back once after `ms`; the returned function cancels and may be called any number of times. */
  after(ms: number, callback: () => void): () => void {
    const dueMs = this.ms() + ms;
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      const isLong = leftMs > LOOK_AGAIN_MS;
      timer = setTimeout(() => (isLong ? wait(dueMs - this.ms()) : callback()), isLong ? LOOK_AGAIN_MS : Math.max(0, leftMs));
    };
    wait(ms);
    return () => clearTimeout(timer);
  }

  /** A container may be told another uptime, since its own start: then nothing is known of suspension. @returns whether it could be told. */
  #countSleep(): boolean {
    const beforeMs = this.#clocks.awakeMs();
    const uptimeMs = this.#clocks.uptimeMs();
    const awakeMs = this.#clocks.awakeMs();
    if (awakeMs - beforeMs > LOOK_WITHIN_MS) return false;
    const sleptMs = uptimeMs - awakeMs;
    if (sleptMs - this.#sleptMs > APART_MS) this.#sleptMs = Math.round(sleptMs);
    return true;
  }
}
