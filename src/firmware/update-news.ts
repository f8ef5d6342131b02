/** Whoever waits for something to become so, and what tells them to look again. */
import { untilAborted } from '../host/bounded-wait.ts';

export class UpdateNews {
  #next = Promise.withResolvers<void>();

  /** Something may have become so. */
  tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }

  /** Looks at once and at all news until there is something; undefined when the signal aborted. */
  async until<T>(look: () => T | undefined, signal: AbortSignal): Promise<T | undefined> {
    while (!signal.aborted) {
      const next = this.#next.promise;
      const found = look();
      if (found !== undefined) return found;
      await untilAborted(next, signal).catch(() => {});
    }
    return undefined;
  }
}
