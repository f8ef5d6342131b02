/**
 * Deadlines over calls that cannot be cancelled: the caller is let go, the call itself runs out on its own. However many wait for the same
 * call, one after the other, nothing of those who were let go stays with it: a call that never ends is asked for again for as long.
 */
import { AgentError } from '../errors.ts';

type Ended = () => void;

/** Who still waits for which work. A promise cannot be let go of: each has one reaction of ours, whoever comes and goes. */
const waiting = new WeakMap<Promise<unknown>, Set<Ended>>();

/**
 * The work's result, or a rejection as soon as the signal aborts; the work's own late failure is then nobody's.
 * @throws AgentError `hardware/deadline` (retry) with the signal's reason as cause.
 */
export function withinDeadline<T>(work: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const all = waitersOf(work);
    const ended = (): void => {
      signal.removeEventListener('abort', expire);
      resolve(work);
    };
    const expire = (): void => {
      all.delete(ended);
      reject(deadlineError(what, signal));
    };
    all.add(ended);
    if (signal.aborted) expire();
    else signal.addEventListener('abort', expire, { once: true });
  });
}

function waitersOf(work: Promise<unknown>): Set<Ended> {
  const known = waiting.get(work);
  if (known !== undefined) return known;
  const fresh = new Set<Ended>();
  waiting.set(work, fresh);
  const tellAll = (): void => {
    waiting.delete(work);
    for (const ended of fresh) ended();
  };
  work.then(tellAll, tellAll);
  return fresh;
}

export function deadlineError(what: string, signal: AbortSignal): AgentError {
  return new AgentError('hardware/deadline', `${what}: no answer within the deadline`, { recovery: 'retry', cause: signal.reason });
}
