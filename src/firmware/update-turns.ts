/** Turns at work that is done for one device at a time: the gateway's own goes before, the attached devices follow in the order of their asking. */
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';

export interface UpdateTurn {
  /** Aborts when another is to have the turn; `end` is still to be called. */
  readonly isOver: AbortSignal;
  /** Notes that the work goes on: one that stands still gives its turn to those that wait. */
  readonly progressed: () => void;
  /** Idempotent. */
  readonly end: () => void;
}

/** A download that nothing came of for so long gives way; it goes on later where it was. */
const STANDS_STILL_MS = 5 * 60_000;

export class UpdateTurns {
  readonly #clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly #waiting: ((turn: UpdateTurn) => void)[] = [];
  /** Turns of the gateway. */
  #own = 0;
  #holder: AbortController | undefined;

  constructor(clock: Pick<Clock, 'after' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** True while anybody has the turn. */
  get isTaken(): boolean {
    return this.#own > 0 || this.#holder !== undefined;
  }

  /** Gives the gateway its turn at once: an attached device gives way, and goes on later. */
  own(): UpdateTurn {
    this.#own += 1;
    this.#holder?.abort();
    const end = once(() => {
      this.#own -= 1;
      this.#serve();
    });
    return { isOver: new AbortController().signal, progressed: () => {}, end };
  }

  /** Waits for a turn. @throws the signal's reason. */
  async next(signal: AbortSignal): Promise<UpdateTurn> {
    const { promise, resolve } = Promise.withResolvers<UpdateTurn>();
    this.#waiting.push(resolve);
    this.#serve();
    try {
      return await untilAborted(promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(resolve);
      if (at === -1) void promise.then((turn) => turn.end());
      else this.#waiting.splice(at, 1);
      throw error;
    }
  }

  #serve(): void {
    if (this.isTaken) return;
    const first = this.#waiting.shift();
    first?.(this.#begin());
  }

  #begin(): UpdateTurn {
    const holder = new AbortController();
    this.#holder = holder;
    let progressedMs = this.#clock.monotonicMs();
    const look = (): void => {
      const standsStill = this.#clock.monotonicMs() - progressedMs >= STANDS_STILL_MS;
      if (standsStill && this.#waiting.length > 0) holder.abort();
      else cancel = this.#clock.after(STANDS_STILL_MS, look);
    };
    let cancel = this.#clock.after(STANDS_STILL_MS, look);
    const end = once(() => {
      cancel();
      this.#holder = undefined;
      this.#serve();
    });
    const progressed = (): void => {
      progressedMs = this.#clock.monotonicMs();
    };
    return { isOver: holder.signal, progressed, end };
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
