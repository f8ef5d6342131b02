/** Times at which a gateway wakes: whatever it does seldom it does then, so that one connection serves all of it. */
import type { Clock } from './clock.ts';

/** Returns the time until the next wake, 1 to `everyMs`; 0 where there are none. */
export function untilWakeMs(clock: Pick<Clock, 'monotonicMs'>, everyMs: number | undefined): number {
  if (everyMs === undefined) return 0;
  return Number.isFinite(everyMs) ? Math.ceil(everyMs - (clock.monotonicMs() % everyMs)) : everyMs;
}
