/** Those who are called back, each until it ends that by the function it was given. */
export class Listeners<Told extends readonly unknown[]> {
  readonly #all = new Set<(...told: Told) => void>();

  readonly add = (listener: (...told: Told) => void): (() => void) => {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  };

  tell(...told: Told): void {
    // While they are called, some may end themselves and others begin.
    for (const listener of [...this.#all]) if (this.#all.has(listener)) listener(...told);
  }
}
