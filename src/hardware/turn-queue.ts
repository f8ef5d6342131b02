/**
 * One transfer at a time. A caller whose deadline passes gives up, waiting or not, but the next transfer starts only when the one
 * before it has really ended: a bus that hangs blocks one thread of the pool, never all of them, and holds nothing of callers that gave up.
 */
import { retryable } from '../errors/agent-error.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { deadlineError } from './deadline.ts';

/**
 * Rank of a request, whoever came first: those that switch off go before all others; then movements and their reading back, then readings; at
 * last what was refused before and is sent again and again. Beside the first, no two of a rank go before all that wait behind: a mute unit
 * neither blinds its neighbours nor stops them, and hears "off" again although they are busy.
 */
export type TurnRank = 'off' | 'movement' | 'reading' | 'again';

const RANKS: readonly TurnRank[] = ['off', 'movement', 'reading', 'again'];

interface Waiting {
  readonly rank: TurnRank;
  readonly begin: () => Promise<unknown>;
}

/** A queue for each place of hardware, whoever opens it how often: what hangs there is waited for by the next opening, and hangs once. */
export class TurnQueues {
  readonly #queues = new Map<string, TurnQueue>();

  at(place: string): TurnQueue {
    return getOrInsert(this.#queues, place, () => new TurnQueue());
  }
}

export class TurnQueue {
  #waiting: Waiting[] = [];
  #isBusy = false;
  /** The ranks of which one went before those of a later rank, who have had no turn since. */
  readonly #wentBefore = new Set<TurnRank>();
  readonly #whenIdle = new Set<() => void>();

  /** Runs the work in its turn. @throws AgentError `hardware/deadline` (retry), or whatever the work throws. */
  run<T>(
    work: () => Promise<T>,
    { what, rank = 'reading' }: { readonly what: string; readonly rank?: TurnRank },
    signal: AbortSignal,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let isUnderWay = false;
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== turn);
        const inQueue = `${what}, waiting for its turn: the deadline was over while others had theirs`;
        reject(isUnderWay ? deadlineError(what, signal) : retryable('hardware/deadline', inQueue, signal.reason));
      };
      const begin = async (): Promise<void> => {
        isUnderWay = true;
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        } finally {
          signal.removeEventListener('abort', giveUp);
        }
      };
      const turn: Waiting = { rank, begin };
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      this.#insert(turn);
      if (!this.#isBusy) void this.#work();
    });
  }

  /** The same for what has to be done whenever its turn comes: what was opened is closed, before it is opened again. */
  async runAtLast(work: () => Promise<void>, what: string): Promise<void> {
    await this.run(work, { what, rank: 'movement' }, new AbortController().signal);
  }

  /** Resolves when everything that was asked for has ended. */
  async idle(): Promise<void> {
    if (!this.#isBusy) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle.add(resolve);
    await promise;
  }

  #insert(turn: Waiting): void {
    const at = this.#waiting.findIndex(({ rank }) => RANKS.indexOf(rank) > RANKS.indexOf(turn.rank));
    this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, turn);
  }

  /** When all who wait have gone before others, it is the turn of those that let them. */
  #next(): Waiting | undefined {
    const at = this.#waiting.findIndex(({ rank }) => !this.#wentBefore.has(rank));
    const last = this.#waiting.at(-1)?.rank;
    const [next] = this.#waiting.splice(at === -1 ? this.#waiting.findIndex(({ rank }) => rank === last) : at, 1);
    if (next === undefined) return undefined;
    for (const rank of RANKS.slice(0, RANKS.indexOf(next.rank) + 1)) this.#wentBefore.delete(rank);
    if (last !== next.rank && next.rank !== 'off') this.#wentBefore.add(next.rank);
    return next;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next.begin();
    this.#isBusy = false;
    for (const tell of this.#whenIdle) tell();
    this.#whenIdle.clear();
  }
}
