/** The bounded wait: work that is given up, or no longer waited for, when its time has passed or a signal aborts. */
import { messageOf } from '../errors/agent-error.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/**
 * The work's own outcome; the signal it is given aborts after `ms`, or with `signal`. It is a signal of this work alone: what a driver leaves
 * listening on it goes with it.
 */
export async function withinMs<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort(signal?.reason);
  const cancel = clock.after(ms, end);
  if (signal?.aborted === true) end();
  signal?.addEventListener('abort', end, { once: true });
  try {
    return await work(over.signal);
  } finally {
    cancel();
    signal?.removeEventListener('abort', end);
  }
}

/**
 * The work's own outcome. When it has none after `ms`, or when `signal` aborts (or has), what `late` gives or throws: only then does the work's
 * signal abort, and whatever the work makes of that comes too late.
 */
export async function outcomeWithin<T, L>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => L,
  signal?: AbortSignal,
): Promise<T | L> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<L>();
  ended.catch(() => {}); // the work may fail first
  const giveUp = (): void => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  };
  return await withinMs(
    clock,
    ms,
    (within) => {
      if (within.aborted) giveUp();
      // Before any listener of the work's own.
      else within.addEventListener('abort', giveUp, { once: true });
      return Promise.race([ended, work(within)]);
    },
    signal,
  );
}

/** Tells if the work has ended, in whatever way, after `ms` at the latest, or when `signal` aborts: it goes on by itself. Never rejects. */
export function endedWithin(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<unknown>,
  signal?: AbortSignal,
): Promise<boolean> {
  let isEnded = true;
  const letGo = (): void => {
    isEnded = false;
  };
  return withinMs(clock, ms, (within) => untilAborted(work, within, letGo), signal)
    .catch(() => {})
    .then(() => isEnded);
}

/** Waiters by the work. A reaction to a promise cannot be removed: each has one of ours, whoever comes and goes. */
const waiting = new WeakMap<Promise<unknown>, Set<() => void>>();

/**
 * The work's outcome, or a rejection with `fault` as soon as the signal aborts; the work's own late failure is then nobody's. However many wait
 * for the same work, one after the other, nothing of those who gave up stays with it.
 */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  fault = (): unknown => signal.reason,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const all = waitersOf(work);
    const ended = (): void => {
      signal.removeEventListener('abort', letGo);
      resolve(work);
    };
    const letGo = (): void => {
      all.delete(ended);
      reject(fault());
    };
    all.add(ended);
    if (signal.aborted) letGo();
    else signal.addEventListener('abort', letGo, { once: true });
  });
}

function waitersOf(work: Promise<unknown>): Set<() => void> {
  const known = waiting.get(work);
  if (known !== undefined) return known;
  const fresh = new Set<() => void>();
  waiting.set(work, fresh);
  const tellAll = (): void => {
    waiting.delete(work);
    for (const ended of fresh) ended();
  };
  work.then(tellAll, tellAll);
  return fresh;
}

/** Steps of an orderly stop: each is bounded in time, and its failure keeps no other from being tried. */
export function closingStep({
  clock,
  log,
  withinMs,
}: {
  readonly clock: Clock;
  readonly log: Log;
  readonly withinMs: number;
}) {
  return async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const done = (async () => await work())().catch((error: unknown) =>
      log.error({ error: messageOf(error) }, `could not ${what}`),
    );
    if (!(await endedWithin(clock, withinMs, done))) log.error({ withinMs }, `could not ${what} in time`);
  };
}
