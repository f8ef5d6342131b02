/**
 * Spares a host that answers with faults: however many loops ask it, it gets no more than one such request in two seconds in the long run. One token
 * bucket serves all. A way (a kind of request) that failed a short while ago takes a token before each request, and gives it back for a good answer: a
 * host that fails now and then is spared as one that always does, and one that works again is asked as often as before. A way that works takes
 * nothing and waits for nobody: a command's reply is not slowed by an upload that is refused.
 */
import type { Clock } from '../host/clock.ts';
import type { Lane } from './connections.ts';
import { PlatformError } from './platform-error.ts';

/** The time that one failing answer takes up: with the polls that end as they should without anything, it stays below one in two seconds. */
export const FAILURE_EVERY_MS = 2_500;
/** So many may come at once after a quiet time: a change-over of tokens asks twice, and each loop notices an outage by itself. */
const MAX_AT_ONCE = 3;
/** A way that has not failed for so long works. */
const WELL_AFTER_MS = 60_000;

/** A lane, of which those calls that a person waits for are two by themselves: replies, and what actuators are to be. */
export type Way = Lane | 'replies' | 'wishes';

/** Those go before others when they have to wait, though not all of them each time: commands that are answered, what is to move, and alarms. */
const URGENT: ReadonlySet<Way> = new Set(['replies', 'wishes', 'upload']);

/** `unreached`: no answer of the platform came, be it that a proxy says so; `answered`: one that is a fault. */
export type Fault = 'unreached' | 'answered';

/** Statuses that proxies answer for a server that is not there. */
const GATEWAY_FAULTS: ReadonlySet<number> = new Set([502, 503, 504]);

interface Waiter {
  readonly isUrgent: boolean;
  readonly go: () => void;
}

export interface PacedRequest<T> {
  /** Returns the fault of an answer, if it is one; a thrown error always is. */
  readonly faultIn: (value: T) => Fault | undefined;
  readonly work: () => Promise<T>;
}

export class HostPace {
  readonly #clock: Clock;
  readonly #failedAtMs = new Map<Way, number>();
  /** Times that nothing was reached. */
  #outages = 0;
  /** Whoever waits for a turn, in the order of asking. */
  #waiting: Waiter[] = [];
  #wasUrgent = false;
  /** From when on the next may fail. */
  #freeAtMs = Number.NEGATIVE_INFINITY;
  #cancelTurn: (() => void) | undefined;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** Does the work when it is its turn: at once, unless this way has failed lately. */
  async paceRequest<T>(way: Way, { faultIn, work }: PacedRequest<T>, signal: AbortSignal): Promise<T> {
    const pays = this.#clock.monotonicMs() - (this.#failedAtMs.get(way) ?? Number.NEGATIVE_INFINITY) < WELL_AFTER_MS;
    const hasPaid = pays && (await this.#turn(URGENT.has(way), signal));
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
      if (fault === undefined && hasPaid) this.#giveBack();
      // A request that the agent itself ended is nobody's fault.
      if (fault !== undefined && !signal.aborted) {
        this.#failedAtMs.set(way, this.#clock.monotonicMs());
        // Each loop notices an outage by itself; it is one.
        const isKnown = fault === 'unreached' && this.#outages > outages;
        if (!pays && !isKnown) this.#use();
        if (fault === 'unreached') this.#outages += 1;
      }
    }
  }

  /** Resolves to true when it is this one's turn, and to false when the signal aborts, which gives the turn to the next. */
  #turn(isUrgent: boolean, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter);
        if (this.#waiting.length === 0) this.#endWait();
        resolve(false);
      };
      const waiter: Waiter = {
        isUrgent,
        go: () => {
          signal.removeEventListener('abort', leave);
          resolve(true);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
      this.#call();
    });
  }

  /** Calls whoever is next, now or when the time comes. */
  #call(): void {
    if (this.#cancelTurn !== undefined) return;
    while (this.#waiting.length > 0) {
      const waitMs = this.#freeAtMs - this.#clock.monotonicMs();
      if (waitMs > 0) {
        this.#cancelTurn = this.#clock.after(waitMs, () => {
          this.#cancelTurn = undefined;
          this.#call();
        });
        return;
      }
      this.#use();
      this.#next()?.go();
    }
  }

  /** The urgent before the others, but no two of them while others wait. */
  #next(): Waiter | undefined {
    const urgent = this.#waiting.findIndex(({ isUrgent }) => isUrgent !== this.#wasUrgent);
    const [next] = this.#waiting.splice(Math.max(0, urgent), 1);
    this.#wasUrgent = next?.isUrgent === true && this.#waiting.length > 0;
    return next;
  }

  #endWait(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
  }

  /** One failing answer takes up its time; many that were under way at once make nobody wait for all of them. */
  #use(): void {
    const nowMs = this.#clock.monotonicMs();
    const atMs = Math.max(this.#freeAtMs, nowMs - (MAX_AT_ONCE - 1) * FAILURE_EVERY_MS);
    this.#freeAtMs = Math.min(atMs, nowMs) + FAILURE_EVERY_MS;
  }

  /** It was no failing answer, so whoever waits may go. */
  #giveBack(): void {
    this.#freeAtMs -= FAILURE_EVERY_MS;
    this.#endWait();
    this.#call();
  }
}

/** Returns the fault of a bad answer by its status; undefined: none came. */
export function faultOfStatus(status: number | undefined): Fault {
  return status === undefined || GATEWAY_FAULTS.has(status) ? 'unreached' : 'answered';
}

function faultOfError(error: unknown): Fault {
  if (!(error instanceof PlatformError)) return 'unreached';
  // Nonsense comes with a good status, or with none that anybody kept.
  return error.code === 'platform/bad-answer' ? 'answered' : faultOfStatus(error.status);
}
