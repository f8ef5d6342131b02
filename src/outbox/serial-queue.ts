/** Lets one thing happen after the other: the disk gets one of our calls at a time from each queue. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs when all that came before has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Resolves when all that was asked for so far has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
