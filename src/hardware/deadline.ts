/** Deadlines over calls that cannot be cancelled: the caller gives up, the call itself runs out on its own. */
import type { AgentError } from '../errors/agent-error.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';

/**
 * The work's result, or a rejection as soon as the signal aborts; the work's own late failure is then nobody's.
 * @throws AgentError `hardware/deadline` (retry) with the signal's reason as cause.
 */
export function withinDeadline<T>(work: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  return untilAborted(work, signal, () => deadlineError(what, signal));
}

/**
 * The answer that others give by `listen`'s two functions, or a rejection as soon as the signal aborts: nothing of it stays anywhere.
 * @throws AgentError `hardware/deadline` (retry) with the signal's reason as cause.
 */
export function answerWithin<T>(
  listen: (resolve: (answer: T) => void, reject: (error: unknown) => void) => void,
  what: string,
  signal: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const giveUp = (): void => reject(deadlineError(what, signal));
    const ended =
      <V>(settle: (value: V) => void) =>
      (value: V): void => {
        signal.removeEventListener('abort', giveUp);
        settle(value);
      };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
    listen(ended(resolve), ended(reject));
  });
}

export function deadlineError(what: string, signal: AbortSignal): AgentError {
  return toldError('hardware/deadline', sentence('noAnswerInTime', { what }), {
    recovery: 'retry',
    cause: signal.reason,
  });
}
