/**
 * Short looks for messages in place of standing polls, where a link is too dear for those: now and then, one poll after the other until nothing
 * more comes. They are at whole multiples of the time between them, as is everything else that is done at a wake (host/wake-grid.ts).
 */
import type { Clock } from '../host/clock.ts';

export interface PollLooks {
  /** Time until the next poll may go; 0 for now. */
  restMs(): number;
  /** Time of a look's poll; undefined where polls stand. */
  timeoutMs(): number | undefined;
  /** Returns how long nothing was asked for before this poll; 0 when one followed the other. */
  begun(): number;
  /** Notes that nothing more is to be had now. */
  empty(): void;
}

/** A look: commands that wait are handed out at once. */
const LOOK_POLL_MS = 3_000;
/** How soon it is noticed that polls may stand again. */
const LOOK_AGAIN_MS = 30_000;

/** @param everyMs Returns the time between two looks, infinite for none; undefined where polls stand. */
export function createPollLooks(
  clock: Pick<Clock, 'monotonicMs'>,
  everyMs: () => number | undefined = () => undefined,
): PollLooks {
  /** Since when nothing is asked for. */
  let restsSinceMs: number | undefined;
  return {
    restMs: () => {
      const every = everyMs();
      const nowMs = clock.monotonicMs();
      if (every === Number.POSITIVE_INFINITY) restsSinceMs ??= nowMs;
      if (every === undefined || restsSinceMs === undefined) return 0;
      const wakeMs = every === Number.POSITIVE_INFINITY ? every : (Math.floor(restsSinceMs / every) + 1) * every;
      return Math.max(0, Math.min(LOOK_AGAIN_MS, wakeMs - nowMs));
    },
    timeoutMs: () => (everyMs() === undefined ? undefined : LOOK_POLL_MS),
    begun: () => {
      const restedMs = restsSinceMs === undefined ? 0 : clock.monotonicMs() - restsSinceMs;
      restsSinceMs = undefined;
      return restedMs;
    },
    empty: () => {
      if (everyMs() !== undefined) restsSinceMs = clock.monotonicMs();
    },
  };
}
