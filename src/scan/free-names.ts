/** Names and keys for what was found: each is given once, and none that somebody has. */
export class FreeNames {
  readonly #used: Set<string>;

  constructor(used: Iterable<string> = []) {
    this.#used = new Set(used);
  }

  /** Returns the name, or with the lowest number from 2 on that makes it free: `temperature`, `temperature2`. */
  next(name: string): string {
    let free = name;
    for (let count = 2; this.#used.has(free); count += 1) free = `${name}${count}`;
    this.#used.add(free);
    return free;
  }
}
