/** Orders work on the disk: each runs alone, in the order of asking. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs when all that came before has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
