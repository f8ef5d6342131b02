/** A loop that must not end before the agent does: what it throws is logged, and it is started again after a while. */
import { messageOf } from '../errors.ts';
import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** A loop that ran this long had begun well. */
const WELL_MS = 60_000;

export async function keepRunning(
  deps: { readonly name: string; readonly clock: Clock; readonly log: Log; readonly run: (signal: AbortSignal) => Promise<void> },
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
