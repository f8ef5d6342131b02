/** Lets code wait for a condition: whoever may have changed it tells, and those who wait look again. */
import { untilAborted } from '../host/bounded-wait.ts';

export class UpdateNews {
  #next = Promise.withResolvers<void>();

  /** The condition may hold now. */
  tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }

  /** Looks now and after each `tell` until there is something; undefined when the signal aborted. */
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
