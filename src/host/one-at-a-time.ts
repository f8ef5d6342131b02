/** Work that is never done twice at once. */

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
