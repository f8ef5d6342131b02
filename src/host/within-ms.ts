/** Work that is given up, or no longer waited for, when its time has passed. */
import type { Clock } from './clock.ts';

/** The work's own outcome; its signal aborts after `ms`. */
export async function withinMs<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort());
  try {
    return await work(late.signal);
  } finally {
    cancel();
  }
}

/** Resolves when the work has ended in whatever way, or after `ms` all the same: the work goes on by itself. Never rejects. */
export async function endedWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(ms, late.resolve);
  await Promise.race([work.catch(() => {}), late.promise]);
  cancel();
}
