/** The machine's files, and how many calls to them are on their way: a clock that a test moves can stand still while a real disk works. */
import { type Files, systemFiles } from '../../src/host/files.ts';

export class WatchedFiles {
  /** Calls that a disk has not answered yet. */
  underWay = 0;
  readonly files: Files = this.#watch(systemFiles);

  #watch<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_target, name) => {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        return (...given: readonly unknown[]): unknown => this.#count(Reflect.apply(found, target, given));
      },
    });
  }

  #count(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    this.underWay += 1;
    return answer
      .finally(() => {
        this.underWay -= 1;
      })
      .then((given: unknown) => (isOpenFile(given) ? this.#watch(given) : given));
  }
}

function isOpenFile(given: unknown): given is object {
  return typeof given === 'object' && given !== null && 'datasync' in given;
}
