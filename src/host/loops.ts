/** Loops that run for as long as the agent does. */
import { messageOf } from '../errors/agent-error.ts';
import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** A loop that ran this long had begun well. */
const WELL_MS = 60_000;

/** One that must not end before: what it throws is logged, and it is started again after a while. */
export async function keepRunning(
  deps: {
    readonly name: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly run: (signal: AbortSignal) => Promise<void>;
  },
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(BACKOFF, deps.clock);
  while (!signal.aborted) {
    const startedMs = deps.clock.monotonicMs();
    try {
      await deps.run(signal);
      if (signal.aborted) return;
      deps.log.error({ loop: deps.name }, 'a loop ended by itself and is started again');
    } catch (error) {
      if (signal.aborted) return;
      deps.log.error({ loop: deps.name, error: messageOf(error) }, 'a loop failed and is started again');
    }
    if (deps.clock.monotonicMs() - startedMs >= WELL_MS) backoff.reset();
    await deps.clock.sleep(backoff.nextMs(), signal);
  }
}

/**
 * Loops that live and end together: started again as one, none of them may be left over from the time before. Runs until all have ended. When one fails, the others are told to end by their own signal, and are waited for.
 * @throws the first failure.
 */
export async function runTogether(
  loops: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  await Promise.all(loops.map((loop) => loop(either).catch((error: unknown) => failed.abort(error))));
  if (failed.signal.aborted) throw failed.signal.reason;
}
