/**
 * The analytics service's limiter: so many executions at a time, so many more waiting, and a refusal at once for whoever comes on top
 * (wire-facts.md, "Analytics").
 */

export interface ExecutionPoolOptions {
  /** SIMPLE_API_RATE_LIMITER_THREAD_POOL_SIZE. */
  readonly threadPoolSize: number;
  /** SIMPLE_API_RATE_LIMITER_QUEUE_CAPACITY. */
  readonly queueCapacity: number;
}

interface Waiting {
  readonly start: () => void;
}

export class ExecutionPool {
  readonly #options: ExecutionPoolOptions;
  readonly #queue: Waiting[] = [];
  #running = 0;

  constructor(options: ExecutionPoolOptions) {
    this.#options = options;
  }

  /** Executions now, and requests that wait for one. */
  get held(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#queue.length };
  }

  /**
   * Resolves when there is room, with the function that gives it back (any number of times); with undefined when pool and queue are full,
   * or when `gone` aborts while waiting.
   */
  enter(gone: AbortSignal): Promise<(() => void) | undefined> {
    if (this.#running < this.#options.threadPoolSize) return Promise.resolve(this.#start());
    if (this.#queue.length >= this.#options.queueCapacity || gone.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = (): void => {
        const at = this.#queue.indexOf(waiting);
        if (at !== -1) this.#queue.splice(at, 1);
        resolve(undefined);
      };
      const waiting: Waiting = {
        start: () => {
          gone.removeEventListener('abort', leave);
          resolve(this.#start());
        },
      };
      gone.addEventListener('abort', leave, { once: true });
      this.#queue.push(waiting);
    });
  }

  #start(): () => void {
    this.#running += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      this.#queue.shift()?.start();
    };
  }
}
