/** One step of an orderly stop: bounded in time, and its failure keeps no other step from being tried. */
import { messageOf } from '../errors.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

export function closingStep(deps: { readonly clock: Clock; readonly log: Log; readonly withinMs: number }) {
  return async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const ended = new AbortController();
    const late = deps.clock.sleep(deps.withinMs, ended.signal).then(() => {
      if (!ended.signal.aborted) deps.log.error({ withinMs: deps.withinMs }, `could not ${what} in time`);
    });
    const done = Promise.resolve()
      .then(work)
      .catch((error: unknown) => deps.log.error({ error: messageOf(error) }, `could not ${what}`))
      .finally(() => ended.abort());
    await Promise.race([done, late]);
  };
}
