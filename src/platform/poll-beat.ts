/**
 * Lets the standing polls of one device end and begin together: over one connection a segment then carries both, and a third of their bytes is
 * saved. A poll that has ended waits for the other's end when that is near, for no longer than a tenth of the way to the platform takes anyway.
 */
import type { Clock } from '../host/clock.ts';

export interface PollBeat {
  /** Resolves at once, or when the other poll has ended or has not within `TOGETHER_MS`. */
  meet(signal: AbortSignal): Promise<void>;
  /** Returns the time until the other poll ends; undefined when none stands. */
  untilOtherMs(): number | undefined;
  began(timeoutMs: number): void;
  ended(): void;
}

const TOGETHER_MS = 50;
/** One that should have ended so long ago is no company. */
const LATE_MS = 500;

interface Member {
  endsAtMs: number | undefined;
  wake: () => void;
}

/** Returns what gives each kind of poll its part of the beat. */
export function createPollBeat(clock: Pick<Clock, 'monotonicMs' | 'sleep'>): () => PollBeat {
  const members = new Set<Member>();
  return () => {
    const own: Member = { endsAtMs: undefined, wake: () => {} };
    members.add(own);
    const ends = (): readonly number[] => [...members].flatMap((one) => (one === own ? [] : (one.endsAtMs ?? [])));
    return {
      meet: async (signal) => {
        const nowMs = clock.monotonicMs();
        if (!ends().some((ms) => ms - nowMs <= TOGETHER_MS && nowMs - ms <= LATE_MS)) return;
        const met = new AbortController();
        own.wake = () => met.abort();
        await clock.sleep(TOGETHER_MS, AbortSignal.any([signal, met.signal]));
        own.wake = () => {};
      },
      untilOtherMs: () => {
        const nowMs = clock.monotonicMs();
        const ahead = ends().filter((ms) => ms > nowMs);
        return ahead.length === 0 ? undefined : Math.min(...ahead) - nowMs;
      },
      began: (timeoutMs) => {
        own.endsAtMs = clock.monotonicMs() + timeoutMs;
      },
      ended: () => {
        own.endsAtMs = undefined;
        for (const one of members) one.wake();
      },
    };
  };
}
