/** Follows a configuration that was handed over until it is kept, returned or refused; the agent may restart meanwhile. */
import type { Clock } from '../host/clock.ts';
import type { ConfigurationsTold } from '../remote-config/told-configurations.ts';

/** Spacing of looks, ms; people see it as motion. */
const LOOK_EVERY_MS = 500;
/** A restart with a way back takes less, ms. */
const SILENCE_MS = 5 * 60_000;
/** Root ends a trial before the agent tells of it, ms. */
const TELLS_WITHIN_MS = 30_000;

export interface Followed {
  /** `unknown`: nobody says any more what becomes of it; `left`: the signal has aborted. */
  readonly outcome: 'kept' | 'returned' | 'refused' | 'unknown' | 'left';
  readonly reason?: string;
}

interface FollowDeps {
  /** SHA-256 of the file that is followed. */
  readonly hash: string;
  /** Asks the agent; undefined while none answers. */
  readonly look: () => Promise<ConfigurationsTold | undefined>;
  readonly onTrial: (secondsLeft: number) => void;
  readonly onSilence: () => void;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
}

export async function followConfiguration(
  { hash, look, onTrial, onSilence, clock }: FollowDeps,
  signal: AbortSignal,
): Promise<Followed> {
  let seenAtMs = clock.monotonicMs();
  let toldAtMs = seenAtMs;
  while (!signal.aborted) {
    const status = await look();
    const nowMs = clock.monotonicMs();
    if (status === undefined) {
      if (nowMs - seenAtMs > SILENCE_MS) return { outcome: 'unknown', reason: 'the agent does not answer' };
      onSilence();
      toldAtMs = nowMs;
    } else {
      seenAtMs = nowMs;
      const { state, trial } = status;
      const isOnTrial = trial?.hash === hash;
      if (isOnTrial) onTrial(trial.secondsLeft);
      if (isOnTrial || state?.hash === hash) toldAtMs = nowMs;
      if (!isOnTrial && state?.hash === hash && isEnd(state.state))
        return state.reason === undefined ? { outcome: state.state } : { outcome: state.state, reason: state.reason };
      if (nowMs - toldAtMs > TELLS_WITHIN_MS)
        return { outcome: 'unknown', reason: 'another configuration came after it' };
    }
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
  return { outcome: 'left' };
}

function isEnd(state: NonNullable<ConfigurationsTold['state']>['state']): state is 'kept' | 'returned' | 'refused' {
  return state === 'kept' || state === 'returned' || state === 'refused';
}
