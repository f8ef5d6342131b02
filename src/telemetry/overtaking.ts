/**
 * An upload under way may take minutes, on a slow line or with a server that hangs: what a line does is not known before something has passed
 * it. An alarm does not wait for that; the upload is ended, and goes again after it.
 */
import type { Clock } from '../host/clock.ts';

/** As long as any call may take to be answered: until then the end is near. */
const OVERTAKEN_AFTER_MS = 15_000;
/** Then it is looked this often. */
const LOOK_EVERY_MS = 5_000;

export interface OvertakingDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly alarmWaits: () => Promise<boolean>;
}

/** Aborts an upload that has just begun once an alarm waits for it; the returned function ends the looking. */
export function endForAlarm({ clock, alarmWaits }: OvertakingDeps, upload: AbortController): () => void {
  let isOver = false;
  const look = async (): Promise<void> => {
    // What cannot be read now is looked for again.
    const waits = await alarmWaits().catch(() => false);
    if (isOver) return;
    if (waits) upload.abort();
    else cancel = clock.after(LOOK_EVERY_MS, () => void look());
  };
  let cancel = clock.after(OVERTAKEN_AFTER_MS, () => void look());
  return () => {
    isOver = true;
    cancel();
  };
}
