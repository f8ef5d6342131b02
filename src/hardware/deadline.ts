/** Deadlines over calls that cannot be cancelled: the caller is let go, the call itself runs out on its own. */
import { AgentError } from '../errors.ts';

/**
 * The work's result, or a rejection as soon as the signal aborts; the work's own late failure is then nobody's.
 * @throws AgentError `hardware/deadline` (retry) with the signal's reason as cause.
 */
export function withinDeadline<T>(work: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const expire = (): void => reject(deadlineError(what, signal));
    if (signal.aborted) expire();
    else signal.addEventListener('abort', expire, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', expire));
  });
}

export function deadlineError(what: string, signal: AbortSignal): AgentError {
  return new AgentError('hardware/deadline', `${what}: no answer within the deadline`, { recovery: 'retry', cause: signal.reason });
}
