/** Who may use the disk, in the order of asking: one at a time, or a few commits together that know how to share. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #shared: Promise<unknown>[] = [];

  /** Runs alone, when all that came before has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#shared.length === 0 ? this.#last : Promise.allSettled([this.#last, ...this.#shared]);
    this.#shared = [];
    const result = before.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Runs beside others that share, when all that asked to run alone before has ended. */
  share<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    const settled: Promise<void> = result.then(
      () => this.#forget(settled),
      () => this.#forget(settled),
    );
    this.#shared.push(settled);
    return result;
  }

  #forget(settled: Promise<void>): void {
    const at = this.#shared.indexOf(settled);
    if (at !== -1) this.#shared.splice(at, 1);
  }
}
