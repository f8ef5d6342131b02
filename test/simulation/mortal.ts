/** Ports of a process that can be killed: after that, no call reaches what is behind them, and none of them answers, for good. */

export class Mortality {
  #isDead = false;

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    this.#isDead = true;
  }

  /** The same object, as long as this life lasts; what its calls bring that is an object is as mortal. */
  bind<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (this.#isDead) return forever();
          const result: unknown = Reflect.apply(value, target, args);
          return result instanceof Promise ? this.#whileAlive(result) : result;
        };
      },
    });
  }

  /** The same for a single function. */
  guard<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return (...args) => (this.#isDead ? forever() : this.#whileAlive(call(...args)));
  }

  async #whileAlive<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      if (this.#isDead) return await forever();
      return isPort(result) ? this.bind(result) : result;
    } catch (error) {
      if (this.#isDead) return await forever();
      throw error;
    }
  }
}

function isPort(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.values(value).some((member) => typeof member === 'function')
  );
}

function forever(): Promise<never> {
  return new Promise(() => {});
}
