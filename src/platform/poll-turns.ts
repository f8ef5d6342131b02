/**
 * Turns at the standing polls of attached devices. Each poll holds a connection, so that of each kind a few stand at once; where more devices
 * poll than that, each has its turn for one long poll's time, first come, first served:
 *
 *   enter ─▶ a place is free, nobody waits ─▶ poll
 *         └▶ wait, at the end ─▶ poll ─▶ a message, handled at once ─▶ poll on, while the turn's time lasts
 *                                       └▶ handled slowly, or a fault ─▶ leave; enter at the front, while it lasts
 *
 * Nobody waits longer than those before it take, all places side by side. A device that waits costs no timer.
 */
import type { Clock } from '../host/clock.ts';

export type PollKind = 'rpc' | 'attributes';

export interface PollTurnsDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Largest number of standing polls of each kind. */
  readonly max: number;
}

export interface PollTurn {
  /** For this long the poll may stand. */
  readonly timeoutMs: number;
  /** Time that went by without a poll of this device, because others had their turn. */
  readonly waitedMs: number;
}

export interface TurnWish {
  /** Length of a long poll. */
  readonly timeoutMs: number;
  /** True while a message is being handled whose outcome the next poll asks for. */
  readonly isUnderWay?: boolean;
}

/** Place of one device among those that poll one kind. */
export interface PollPlace {
  /** Resolves when its next poll may stand; to undefined, and without the place, when the signal aborts. Who has the place keeps it while its turn lasts. */
  readonly enter: (wish: TurnWish, signal: AbortSignal) => Promise<PollTurn | undefined>;
  /** Gives the place to the next. Idempotent. */
  readonly leave: () => void;
}

/** A poll shorter than this is not worth its request. */
const MIN_POLL_MS = 2_000;
/** For the outcome of what the device was asked to do at the end of its turn. */
const UNDER_WAY_MS = 10_000;

export class PollTurns {
  readonly #deps: PollTurnsDeps;
  readonly #lines: Readonly<Record<PollKind, Line>> = { rpc: new Line(), attributes: new Line() };

  constructor(deps: PollTurnsDeps) {
    this.#deps = deps;
  }

  /** Returns a device's place, one for each of its polls. */
  place(kind: PollKind): PollPlace {
    const line = this.#lines[kind];
    const { clock, max } = this.#deps;
    let isMine = false;
    let untilMs = Number.NEGATIVE_INFINITY;
    const leave = (): void => {
      if (isMine) line.leave();
      isMine = false;
    };
    const enter = async (
      { timeoutMs, isUnderWay = false }: TurnWish,
      signal: AbortSignal,
    ): Promise<PollTurn | undefined> => {
      const cameMs = clock.monotonicMs();
      const goesOn = cameMs + MIN_POLL_MS <= untilMs || (isUnderWay && cameMs < untilMs + UNDER_WAY_MS);
      const isCrowded = line.waiting > 0 || (!isMine && line.standing >= max);
      if (signal.aborted || (isCrowded && !goesOn)) leave();
      if (signal.aborted) return undefined;
      const waits = isCrowded && !isMine;
      if (waits && !(await line.wait(goesOn, signal))) return undefined;
      if (!waits && !isMine) line.standing += 1;
      isMine = true;
      const nowMs = clock.monotonicMs();
      if (!isCrowded || !goesOn) untilMs = nowMs + timeoutMs;
      return { timeoutMs: Math.min(timeoutMs, Math.max(MIN_POLL_MS, untilMs - nowMs)), waitedMs: nowMs - cameMs };
    };
    return { enter, leave };
  }

  /** Returns how many polls of a kind stand, and how many devices wait for their turn. */
  load(kind: PollKind): { readonly standing: number; readonly waiting: number } {
    const { standing, waiting } = this.#lines[kind];
    return { standing, waiting };
  }
}

/** Those that poll one kind. */
class Line {
  standing = 0;
  /** Oldest first, each with what lets it go. */
  readonly #goingOn = new Set<() => void>();
  readonly #waiting = new Set<() => void>();

  get waiting(): number {
    return this.#goingOn.size + this.#waiting.size;
  }

  /** Resolves to true with a place, to false without one when the signal aborts. */
  wait(goesOn: boolean, signal: AbortSignal): Promise<boolean> {
    const queue = goesOn ? this.#goingOn : this.#waiting;
    return new Promise((resolve) => {
      const end = (hasPlace: boolean): void => {
        queue.delete(grant);
        signal.removeEventListener('abort', giveUp);
        resolve(hasPlace);
      };
      const grant = (): void => end(true);
      const giveUp = (): void => end(false);
      queue.add(grant);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** The place goes to the next, so that nobody takes it in between. */
  leave(): void {
    const [next] = this.#goingOn.size > 0 ? this.#goingOn : this.#waiting;
    if (next === undefined) this.standing -= 1;
    else next();
  }
}
