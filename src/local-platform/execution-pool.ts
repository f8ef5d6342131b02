/**
 * The analytics service's limiter: so many executions at a time, so many more waiting, and a refusal at once for whoever comes on top
 * (platform/wire-facts.md, "Analytics").
 */
import type { PlatformSettings } from './local-platform-options.ts';

export class ExecutionPool {
  readonly #limits: Pick<PlatformSettings['analytics'], 'threadPoolSize' | 'queueCapacity'>;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limits: Pick<PlatformSettings['analytics'], 'threadPoolSize' | 'queueCapacity'>) {
    this.#limits = limits;
  }

  /** Executions now, and requests that wait for one. */
  get held(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#queue.length };
  }

  /**
   * Resolves when there is room, with the function that gives it back (any number of times); with undefined when pool and queue are full,
   * or when `gone` aborts while waiting.
   */
  async enter(gone: AbortSignal): Promise<(() => void) | undefined> {
    if (this.#running < this.#limits.threadPoolSize) return this.#start();
    if (this.#queue.length >= this.#limits.queueCapacity || gone.aborted) return undefined;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#queue.splice(this.#queue.indexOf(start), 1);
        resolve(undefined);
      };
      const start = (): void => {
        gone.removeEventListener('abort', giveUp);
        resolve(this.#start());
      };
      gone.addEventListener('abort', giveUp, { once: true });
      this.#queue.push(start);
    });
  }

  #start(): () => void {
    this.#running += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      this.#queue.shift()?.();
    };
  }
}
