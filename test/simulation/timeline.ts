/**
 * The world's one true time, and the only thing that moves it: events in order of their time, and within one time in the order in which they
 * were made. After each event everything that follows from it without waiting is done before the next begins.
 */

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
  isCancelled: boolean;
}

export class Timeline {
  #nowMs = 0;
  #made = 0;
  /** Work that takes the machine's time. */
  readonly #outside = new Set<Promise<unknown>>();
  /** A binary heap, the earliest first. */
  readonly #events: Event[] = [];

  /** Since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Acts once after `ms`; the returned function cancels. */
  after(ms: number, act: () => void): () => void {
    const event: Event = { atMs: this.#nowMs + Math.max(0, ms), order: this.#made++, act, isCancelled: false };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Work that takes the machine's time, as it reads real files: the time of the world stands until it is done. */
  outside<T>(work: Promise<T>): Promise<T> {
    this.#outside.add(work);
    return work.finally(() => this.#outside.delete(work));
  }

  /** Lets the world go on until then. */
  async runUntil(untilMs: number): Promise<void> {
    await this.#settled();
    for (let next = this.#events[0]; next !== undefined && next.atMs <= untilMs; next = this.#events[0]) {
      this.#pop();
      if (next.isCancelled) continue;
      this.#nowMs = next.atMs;
      next.act();
      // Those that share a time have been made before it: they cannot depend on what this one began.
      if (this.#events[0]?.atMs !== next.atMs) await this.#settled();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    await this.#settled();
  }

  async #settled(): Promise<void> {
    await settled();
    while (this.#outside.size > 0) {
      await Promise.allSettled(this.#outside);
      await settled();
    }
  }

  #push(event: Event): void {
    const heap = this.#events;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent] as Event, event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#events;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const least = right < heap.length && isBefore(heap[right] as Event, heap[left] as Event) ? right : left;
      if (isBefore(last, heap[least] as Event)) break;
      heap[at] = heap[least] as Event;
      at = least;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Work in steps that never ends would hold up the world's time for ever. */
const MAX_TURNS = 100_000;

/**
 * Resolves when promises, what the streams put off, and work that is cut into steps of the loop are done. The time of the world stands meanwhile:
 * on a board such steps take milliseconds, and between two events of a quiet world lie seconds.
 */
export async function settled(): Promise<void> {
  await turn();
  for (let turns = 0; turns < MAX_TURNS && process.getActiveResourcesInfo().includes('Immediate'); turns += 1)
    await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
