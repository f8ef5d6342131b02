/** Looks now and then at what a device says of itself: much of it is known only after the first readings, and may change at any time. */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../values/json.ts';
import type { ClientAttributes } from './client-attributes.ts';

/** The second look; each wait after it is twice as long. First readings come in these seconds. */
const FIRST_WAIT_MS = 2_000;
/** A dashboard may wait this long for a new address, or for a thing that has fallen silent. */
const MAX_WAIT_MS = 60_000;

/** Reports what `look` returns, until the signal aborts; never rejects. */
export async function reportChanging(
  {
    client,
    clock,
    look,
  }: { readonly client: ClientAttributes; readonly clock: Clock; readonly look: () => JsonObject },
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    client.report(look());
    await clock.sleep(waitMs, signal);
  }
}
