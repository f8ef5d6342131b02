/**
 * Spares a host that answers with faults: however many loops ask it, it gets no more than one such request in two seconds in the long run. One token
 * bucket serves all. A way (a kind of request) that failed a short while ago takes a token before each request, and gives it back for a good answer: a
 * host that fails now and then is spared as one that always does, and one that works again is asked as often as before. A way that works takes
 * nothing and waits for nobody: a command's reply is not slowed by an upload that is refused.
 */
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Lane } from './connections.ts';
import { PlatformError } from './platform-error.ts';
import { isGatewayFault } from './status-meaning.ts';

/** The time that one failing answer takes up: with the polls that end as they should without anything, it stays below one in two seconds. */
export const FAILURE_EVERY_MS = 2_500;
/** So many may come at once after a quiet time: a change-over of tokens asks twice, and each loop notices an outage by itself. */
const MAX_AT_ONCE = 3;
/** A way that has not failed for so long works. */
const WELL_AFTER_MS = 60_000;

/** A lane, of which those calls that a person waits for are two by themselves: replies, and what actuators are to be. */
export type Way = Lane | 'replies' | 'wishes';

/** `unreached`: no answer of the platform came, be it that a proxy says so; `answered`: one that is a fault. */
export type Fault = 'unreached' | 'answered';

export interface PacedRequest<T> {
  /** Returns the fault of an answer, if it is one; a thrown error always is. */
  readonly faultIn: (value: T) => Fault | undefined;
  readonly work: () => Promise<T>;
}

export class HostPace {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #failedAtMs = new Map<Way, number>();
  /** Times that nothing was reached. */
  #outages = 0;

  constructor({ clock, bucket = new TokenBucket(clock) }: { readonly clock: Clock; readonly bucket?: TokenBucket }) {
    this.#clock = clock;
    this.#bucket = bucket;
  }

  /** Returns the pace of another client of the same host: what fails for the one says nothing of the other's ways, and both share the tokens. */
  ofAnotherClient(): HostPace {
    return new HostPace({ clock: this.#clock, bucket: this.#bucket });
  }

  /** Does the work when it is its turn: at once, unless this way has failed lately. */
  async paceRequest<T>(way: Way, { faultIn, work }: PacedRequest<T>, signal: AbortSignal): Promise<T> {
    const pays = this.#clock.monotonicMs() - (this.#failedAtMs.get(way) ?? Number.NEGATIVE_INFINITY) < WELL_AFTER_MS;
    const hasPaid = pays && (await this.#bucket.turn(signal));
    const outages = this.#outages;
    let fault: Fault | undefined;
    try {
      const value = await work();
      fault = faultIn(value);
      return value;
    } catch (error) {
      fault = faultOfError(error);
      throw error;
    } finally {
      if (fault === undefined && hasPaid) this.#bucket.giveBack();
      // A request that the agent itself ended is nobody's fault.
      if (fault !== undefined && !signal.aborted) {
        this.#failedAtMs.set(way, this.#clock.monotonicMs());
        // Each loop notices an outage by itself; it is one.
        const isKnown = fault === 'unreached' && this.#outages > outages;
        if (!pays && !isKnown) this.#bucket.use();
        if (fault === 'unreached') this.#outages += 1;
      }
    }
  }
}

/** The tokens of one host, for all of its clients. */
class TokenBucket {
  readonly #clock: Clock;
  /** Resolves when all who asked for a turn have had it, in the order of asking. */
  #turns = Promise.resolve();
  /** From when on the next may fail. */
  #freeAtMs = Number.NEGATIVE_INFINITY;
  /** Aborts when that is sooner than it was. */
  #sooner = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to true when it is this one's turn, and to false when the signal aborts, which gives the turn to the next. */
  async turn(signal: AbortSignal): Promise<boolean> {
    const before = this.#turns;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turns = promise;
    await untilAborted(before, signal).catch(() => {});
    for (let waitMs = this.#waitMs(); waitMs > 0 && !signal.aborted; waitMs = this.#waitMs())
      await this.#clock.sleep(waitMs, AbortSignal.any([signal, this.#sooner.signal]));
    if (!signal.aborted) this.use();
    void before.then(resolve);
    return !signal.aborted;
  }

  #waitMs(): number {
    return this.#freeAtMs - this.#clock.monotonicMs();
  }

  /** One failing answer takes up its time; many that were under way at once make nobody wait for all of them. */
  use(): void {
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(this.#freeAtMs, nowMs - (MAX_AT_ONCE - 1) * FAILURE_EVERY_MS);
    this.#freeAtMs = Math.min(atMs, nowMs) + FAILURE_EVERY_MS;
  }

  /** It was no failing answer, so whoever waits may go. */
  giveBack(): void {
    this.#freeAtMs -= FAILURE_EVERY_MS;
    this.#sooner.abort();
    this.#sooner = new AbortController();
  }
}

/** Returns the fault of a bad answer by its status; undefined: none came. */
export function faultOfStatus(status: number | undefined): Fault {
  return status === undefined || isGatewayFault(status) ? 'unreached' : 'answered';
}

function faultOfError(error: unknown): Fault {
  if (!(error instanceof PlatformError)) return 'unreached';
  // Nonsense comes with a good status, or with none that anybody kept.
  return error.code === 'platform/bad-answer' ? 'answered' : faultOfStatus(error.status);
}
