/** Deadlines over calls that cannot be cancelled: the caller gives up, the call itself runs out on its own. */
import { type AgentError, retryable } from '../errors/agent-error.ts';
import { untilAborted } from '../host/bounded-wait.ts';

/**
 * The work's result, or a rejection as soon as the signal aborts; the work's own late failure is then nobody's.
 * @throws AgentError `hardware/deadline` (retry) with the signal's reason as cause.
 */
export function withinDeadline<T>(work: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  return untilAborted(work, signal, () => deadlineError(what, signal));
}

export function deadlineError(what: string, signal: AbortSignal): AgentError {
  return retryable('hardware/deadline', `${what}: no answer within the deadline`, signal.reason);
}
