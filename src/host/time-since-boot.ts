/**
 * Time since boot with what the board was suspended for. Node's monotonic clock stands still then (CLOCK_MONOTONIC); what the kernel calls uptime
 * does not (CLOCK_BOOTTIME), but it is a file that is told in hundredths of a second. It is read where the wall clock has gone on by itself.
 */

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

export class TimeSinceBoot {
  readonly #clocks: BootClocks;
  #sleptMs = 0;
  /** Wall minus awake as it was last seen, ms. */
  #offsetMs: number;

  constructor(clocks: BootClocks) {
    this.#clocks = clocks;
    const awakeMs = clocks.awakeMs();
    this.#offsetMs = clocks.wallMs() - awakeMs;
    this.#countSleep(awakeMs);
  }

  /** With a fraction; never goes back. A suspension is counted once it is over, to 10 ms. */
  ms(): number {
    const awakeMs = this.#clocks.awakeMs();
    const offsetMs = this.#clocks.wallMs() - awakeMs;
    if (Math.abs(offsetMs - this.#offsetMs) > APART_MS) {
      this.#offsetMs = offsetMs;
      this.#countSleep(awakeMs);
    }
    return awakeMs + this.#sleptMs;
  }

  /** A container may be told another uptime, since its own start: then nothing is known of suspension. */
  #countSleep(awakeMs: number): void {
    const sleptMs = this.#clocks.uptimeMs() - awakeMs;
    if (sleptMs - this.#sleptMs > APART_MS) this.#sleptMs = Math.round(sleptMs);
  }
}
