/**
 * How much longer an exchange may take for what has to pass the line: a batch for a modem of 1 kB/s needs minutes that nobody would give a
 * server to answer. What is known of the line is learned from what passed it, so that on a quick line one that hangs is noticed soon.
 */

/** Speed that every line is believed to have; half of the slowest that is promised to work, as several lanes may share it. */
const SLOWEST_BYTES_PER_S = 500;
/** A line that did so much is believed to do this share of it. */
const BELIEVED_SHARE = 0.25;
/** Each quick passage is believed a little less with every one after it: a modem changes its network. */
const FORGETTING = 0.9;
/** Bodies and answers up to this size pass any line within the time for an answer, and tell nothing of its speed. */
const FREE_BYTES = 1024;
/** Nothing is waited for longer than this. */
const MAX_EXTRA_MS = 30 * 60 * 1000;

export class LineSpeed {
  #bytesPerS = SLOWEST_BYTES_PER_S;

  /** Returns the time that a body of this size may take beyond the time for an answer. */
  extraMs(bytes: number): number {
    return Math.min(MAX_EXTRA_MS, (Math.max(0, bytes - FREE_BYTES) * 1000) / this.#bytesPerS);
  }

  /** A body of this size passed in so long. */
  passed(bytes: number, ms: number): void {
    if (bytes <= FREE_BYTES) return;
    const measured = (bytes * 1000) / Math.max(1, ms);
    this.#bytesPerS = Math.max(SLOWEST_BYTES_PER_S, this.#bytesPerS * FORGETTING, measured * BELIEVED_SHARE);
  }

  /** Something did not pass in its time: nothing is known any more. */
  stuck(): void {
    this.#bytesPerS = SLOWEST_BYTES_PER_S;
  }
}

/** How far bytes that arrived put off the end of an exchange: at this speed or above, it makes progress; a trickle does not. */
export function earnedMs(bytes: number): number {
  return (bytes * 1000) / SLOWEST_BYTES_PER_S;
}
