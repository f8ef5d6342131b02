/**
 * One transfer at a time. A caller whose deadline passes is let go, waiting or not, but the next transfer starts only when the one
 * before it has really ended: a bus that hangs blocks one thread of the pool, never all of them.
 */
import { deadlineError, withinDeadline } from './deadline.ts';

export class TurnQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work in its turn. @throws AgentError `hardware/deadline` (retry), or whatever the work throws. */
  run<T>(work: () => Promise<T>, what: string, signal: AbortSignal): Promise<T> {
    const turn = this.#last.then(() => {
      if (signal.aborted) throw deadlineError(`${what}, waiting for its turn`, signal);
      return work();
    });
    this.#last = turn.catch(() => {});
    return withinDeadline(turn, what, signal);
  }

  /** Resolves when everything that was asked for has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
