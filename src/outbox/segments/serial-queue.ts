/** Orders work on the disk: each runs alone, in the order of asking, except commits, which may run beside each other. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #shared = new Set<Promise<unknown>>();

  /** Runs alone, when all that came before has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    // None of them rejects.
    const result = Promise.all([this.#last, ...this.#shared]).then(work);
    this.#shared = new Set();
    this.#last = result.catch(() => {});
    return result;
  }

  /** Runs beside others that share, when all that asked to run alone before has ended. */
  share<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    const among = this.#shared;
    const settled: Promise<unknown> = result.catch(() => {}).then(() => among.delete(settled));
    among.add(settled);
    return result;
  }
}
