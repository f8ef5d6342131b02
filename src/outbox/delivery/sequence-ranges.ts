/** A set of entry numbers kept as disjoint, ascending ranges: what was acknowledged stays a handful of them, however much it is. */

/** Both ends included. */
export type SequenceRange = readonly [first: number, last: number];

export class SequenceRanges {
  #ranges: [number, number][] = [];

  constructor(ranges: Iterable<SequenceRange> = []) {
    for (const [first, last] of ranges) this.add(first, last);
  }

  /** Adds a range; neighbours grow together. */
  add(first: number, last: number): void {
    const ranges = this.#ranges;
    let from = this.#firstEndingAtOrAfter(first - 1);
    const at = from;
    let low = first;
    let high = last;
    for (let range = ranges[from]; range !== undefined && range[0] <= last + 1; range = ranges[from]) {
      low = Math.min(low, range[0]);
      high = Math.max(high, range[1]);
      from += 1;
    }
    ranges.splice(at, from - at, [low, high]);
  }

  has(sequence: number): boolean {
    return this.covers(sequence, sequence);
  }

  /** True when every number of the range is in the set. */
  covers(first: number, last: number): boolean {
    return this.rangeOf(first, last) !== undefined;
  }

  /** True when every number of the range is in this set or in the other. */
  coversWith(other: SequenceRanges, first: number, last: number): boolean {
    for (let at = first; at <= last; ) {
      const range = this.rangeOf(at, at) ?? other.rangeOf(at, at);
      if (range === undefined) return false;
      at = range[1] + 1;
    }
    return true;
  }

  /** The range of the set that covers a range. */
  rangeOf(first: number, last: number): SequenceRange | undefined {
    const range = this.#ranges[this.#firstEndingAtOrAfter(first)];
    return range !== undefined && range[0] <= first && range[1] >= last ? range : undefined;
  }

  /** True when any number of the range is in the set. */
  touches(first: number, last: number): boolean {
    const range = this.#ranges[this.#firstEndingAtOrAfter(first)];
    return range !== undefined && range[0] <= last;
  }

  /** How many numbers of a range are in the set. */
  countWithin(first: number, last: number): number {
    let count = 0;
    for (let at = this.#firstEndingAtOrAfter(first); ; at += 1) {
      const range = this.#ranges[at];
      if (range === undefined || range[0] > last) return count;
      count += Math.min(range[1], last) - Math.max(range[0], first) + 1;
    }
  }

  /** The greatest number of the set up to one. */
  lastUpTo(sequence: number): number | undefined {
    const at = this.#firstEndingAtOrAfter(sequence);
    const range = this.#ranges[at];
    return range !== undefined && range[0] <= sequence ? sequence : this.#ranges[at - 1]?.[1];
  }

  /** Takes a range out of the set. */
  remove(first: number, last: number): void {
    const at = this.#firstEndingAtOrAfter(first);
    const kept: [number, number][] = [];
    let until = at;
    for (let range = this.#ranges[until]; range !== undefined && range[0] <= last; range = this.#ranges[until]) {
      if (range[0] < first) kept.push([range[0], first - 1]);
      if (range[1] > last) kept.push([last + 1, range[1]]);
      until += 1;
    }
    this.#ranges.splice(at, until - at, ...kept);
  }

  /** Returns the parts of some ranges that are outside this set, ascending. */
  without(ranges: readonly SequenceRange[]): readonly SequenceRange[] {
    const left = new SequenceRanges(ranges);
    for (const [first, last] of ranges) {
      let at = this.#firstEndingAtOrAfter(first);
      for (let own = this.#ranges[at]; own !== undefined && own[0] <= last; own = this.#ranges[++at])
        left.remove(own[0], own[1]);
    }
    return left.list();
  }

  /** Forgets everything below a number. */
  forgetBelow(sequence: number): void {
    const at = this.#firstEndingAtOrAfter(sequence);
    this.#ranges.splice(0, at);
    const first = this.#ranges[0];
    if (first !== undefined && first[0] < sequence) first[0] = sequence;
  }

  /** The ranges, ascending. */
  list(): readonly SequenceRange[] {
    return this.#ranges;
  }

  get last(): number | undefined {
    return this.#ranges.at(-1)?.[1];
  }

  /** Index of the first range whose last number is at or after `sequence`. */
  #firstEndingAtOrAfter(sequence: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[middle] as [number, number])[1] < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
