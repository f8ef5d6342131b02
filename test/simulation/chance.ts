/** All chance of a world comes from its seed: the same seed is the same world on every machine. */

/** Small, fast and good enough for choosing faults (Bob Jenkins' small PRNG, 32 bits). */
export class Chance {
  #a = 0xf1ea5eed;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number | string) {
    const start = typeof seed === 'number' ? seed >>> 0 : hashOf(seed);
    this.#b = this.#c = this.#d = start;
    for (let turn = 0; turn < 20; turn += 1) this.#next();
  }

  /** Evenly distributed in [0, 1). */
  readonly random = (): number => this.#next() / 2 ** 32;

  /** Whole, from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** Draws a size between the two, as often small as large: every power of ten has its share. */
  magnitude(least: number, most: number): number {
    return Math.exp(Math.log(least) + this.random() * (Math.log(most) - Math.log(least)));
  }

  /** True in this share of all cases. */
  happens(share: number): boolean {
    return this.random() < share;
  }

  pick<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    const chosen = choices[this.between(0, choices.length - 1)];
    if (chosen === undefined && choices.length === 0) throw new Error('nothing to choose from');
    return chosen as T;
  }

  /** A source of its own, so that what one part draws changes nothing for the others. */
  fork(name: string): Chance {
    return new Chance(`${this.#next()} ${name}`);
  }

  #next(): number {
    const e = (this.#a - rotate(this.#b, 27)) | 0;
    this.#a = this.#b ^ rotate(this.#c, 17);
    this.#b = (this.#c + this.#d) | 0;
    this.#c = (this.#d + e) | 0;
    this.#d = (e + this.#a) | 0;
    return this.#d >>> 0;
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
