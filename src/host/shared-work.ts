/** Work that several callers share, or that must not be done twice at once. */
import { untilAborted } from './bounded-wait.ts';

interface Running<T> {
  readonly outcome: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/**
 * Begun by the first caller, and ended when the last has given up. Each caller has a signal of its own: one that gives up does not end the work of
 * the others.
 */
export class SharedWork<T> {
  readonly #work: (signal: AbortSignal) => Promise<T>;
  #running: Running<T> | undefined;
  /** End of the last work: after everybody gave up it may take a while, and it is not done twice at once. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Joins the work that is under way, or begins it. @throws the signal's reason, at once when it aborts; what the work throws. */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const running = this.#running ?? this.#begin();
    running.waiting += 1;
    try {
      return await untilAborted(running.outcome, signal);
    } finally {
      running.waiting -= 1;
      if (running.waiting === 0 && this.#running === running) this.#leave(running);
    }
  }

  #begin(): Running<T> {
    const stop = new AbortController();
    const running = { outcome: this.#ended.then(() => this.#work(stop.signal)), stop, waiting: 0 };
    this.#running = running;
    const ended = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    this.#ended = running.outcome.then(ended, ended);
    return running;
  }

  /** Whoever comes now begins again. */
  #leave(running: Running<T>): void {
    this.#running = undefined;
    running.stop.abort();
  }
}

/** Begins again only when it has ended: whoever asks meanwhile waits for one more run, all of them for the same. */
export function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    const begin = (): Promise<T> => {
      next = undefined;
      return work();
    };
    next = running.then(begin, begin);
    running = next;
    return next;
  };
}

/** Begins again only when it has ended: whoever asks meanwhile gets what comes of the one that is under way. */
export function joinedWhileUnderWay<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Done by the first who asks; the others wait for the same. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
