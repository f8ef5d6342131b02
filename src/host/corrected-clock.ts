/**
 * The machine's clock with the right wall time, as far as that is known: on a board whose clock nobody sets, the platform's dates stand in. For
 * all that a person or the platform reads as a date; who asks whether the machine's own clock is right takes that one.
 */
import type { Clock } from './clock.ts';
import type { TimeSync } from './time-sync.ts';

export function correctedClock(clock: Clock, timeSync: Pick<TimeSync, 'correctionMs'>): Clock {
  return {
    bootId: clock.bootId,
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + timeSync.correctionMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
    jitter: () => clock.jitter(),
  };
}
