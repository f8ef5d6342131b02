/**
 * Timestamps of each key that are in use. The platform keeps one value per key and ms: a second one in the same ms would overwrite the
 * first. Bounded over all keys: the timestamps farthest from the newest are evicted, the earliest first.
 */

/** Stretches of timestamps in use without a gap, `[firsts[i], lasts[i]]`, ascending. */
interface Taken {
  readonly firsts: number[];
  readonly lasts: number[];
}

/** Keys are a few dozen; this only keeps a source of endless new keys from taking the memory. */
const MAX_KEYS = 10_000;
/** Over all keys; of a hundred keys that are read every second, the last four to eight minutes. */
const MAX_STRETCHES = 50_000;
/** Stretches that each key keeps, however many others there are: an edge and a reading of the same line come in any order. */
const MIN_STRETCHES = 8;

export class TakenInstants {
  readonly #keys = new Map<string, Taken>();

  /** This ms when nothing has it, else the next that nothing has. */
  freeFrom(name: string, ms: number): number {
    const taken = this.#keys.get(name);
    const at = taken === undefined ? -1 : indexAt(taken, ms);
    const last = taken?.lasts[at] ?? Number.NEGATIVE_INFINITY;
    return last < ms ? ms : last + 1;
  }

  take(name: string, ms: number): void {
    const taken = this.#of(name);
    const { firsts, lasts } = taken;
    const at = indexAt(taken, ms);
    if (at >= 0 && (lasts[at] as number) >= ms) return;
    const touchesBefore = at >= 0 && lasts[at] === ms - 1;
    const touchesAfter = firsts[at + 1] === ms + 1;
    if (touchesBefore && touchesAfter) {
      firsts.splice(at + 1, 1);
      lasts.splice(at, 1);
    } else if (touchesBefore) lasts[at] = ms;
    else if (touchesAfter) firsts[at + 1] = ms;
    else {
      insert(firsts, at + 1, ms);
      insert(lasts, at + 1, ms);
      this.#bound(taken, at + 1);
    }
  }

  /** Keeps the neighbours of what came last, which the next one may meet. */
  #bound({ firsts, lasts }: Taken, newest: number): void {
    const most = Math.max(2 * MIN_STRETCHES, Math.floor(MAX_STRETCHES / this.#keys.size));
    if (firsts.length <= most) return;
    const excess = firsts.length - Math.floor(most / 2);
    const earliest = Math.min(excess, Math.max(0, newest + 1 - MIN_STRETCHES));
    for (const column of [firsts, lasts]) {
      column.splice(0, earliest);
      column.length -= excess - earliest;
    }
  }

  #of(name: string): Taken {
    let taken = this.#keys.get(name);
    if (taken !== undefined) return taken;
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    taken = { firsts: [], lasts: [] };
    this.#keys.set(name, taken);
    return taken;
  }
}

/** Returns the index of the last stretch that begins by this ms; -1 when there is none. Mostly it is the very last one. */
function indexAt({ firsts }: Taken, ms: number): number {
  let above = firsts.length;
  if (above === 0 || (firsts[above - 1] as number) <= ms) return above - 1;
  let from = 0;
  while (from < above) {
    const middle = (from + above) >>> 1;
    if ((firsts[middle] as number) <= ms) from = middle + 1;
    else above = middle;
  }
  return from - 1;
}

function insert(column: number[], at: number, value: number): void {
  if (at === column.length) column.push(value);
  else column.splice(at, 0, value);
}
