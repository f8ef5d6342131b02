/**
 * The only place that reads a clock. Monotonic time orders and spaces things; wall time only labels them, because on a board
 * without a battery-backed clock it is wrong at boot and steps later.
 */
import { readFileSync } from 'node:fs';

/**
 * A time of UTC, epoch ms. Whatever else is called `…AtMs` is monotonic, of this boot: only times that other boots, other programs or people
 * read are epoch times, and they have this type.
 */
export type EpochMs = number;

export interface Clock {
  /** Names this boot of the kernel: monotonic times of one boot id can be compared with each other, across processes. */
  readonly bootId: string;
  /** Milliseconds since boot (CLOCK_MONOTONIC, with which the kernel stamps too), with a fraction; never goes back. */
  monotonicMs(): number;
  /** UTC epoch milliseconds, whole; may be wrong until the clock is synchronised, and may step either way. */
  wallMs(): number;
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back once after `ms`, as `sleep`; the returned function cancels and may be called any number of times. */
  after(ms: number, callback: () => void): () => void;
  /** Evenly distributed in [0, 1): where within its bounds a wait ends, so that many boards do not act in step. Nothing secret is made of it. */
  jitter(): number;
}

/** Longest timer of the runtime, ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  wallMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const finish = (): void => {
        cancel();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const cancel = after(ms, finish);
      signal.addEventListener('abort', finish, { once: true });
    }),
  after,
  jitter: () => Math.random(),
};

/** Two clocks read with more than this between them tell nothing. */
const READ_WITHIN_MS = 5;

/** UTC epoch ms minus ms since boot, now; undefined when something came between the two looks. */
export function wallOffsetMs(clock: Pick<Clock, 'monotonicMs' | 'wallMs'>): number | undefined {
  const before = clock.monotonicMs();
  const wallMs = clock.wallMs();
  const after = clock.monotonicMs();
  return after - before > READ_WITHIN_MS ? undefined : Math.round(wallMs - (before + after) / 2);
}

function after(ms: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    timer =
      leftMs > MAX_TIMER_MS
        ? setTimeout(wait, MAX_TIMER_MS, leftMs - MAX_TIMER_MS)
        : setTimeout(callback, Math.max(0, leftMs));
  };
  wait(ms);
  return () => clearTimeout(timer);
}
