/**
 * What waits for delivery as the device that this board was before: set aside whole, before the outbox is opened, so that it never goes out as
 * the device that it is now. It stays for a person to look at until the next one takes its place.
 */
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import { removeTreeDurably } from '../host/durable-file.ts';
import type { CredentialsStore, CredentialsStoreDeps } from './credentials-store.ts';

export interface FormerQueueDeps extends Pick<CredentialsStoreDeps, 'stateFolder' | 'files' | 'log'> {
  readonly store: Pick<CredentialsStore, 'setsQueueAside' | 'queueIsAside'>;
}

export const FORMER_QUEUE = 'outbox-of-former-device';

/** So long readings stay in memory; after it a power cut would cost more than readings that are set aside with another device's. */
const KNOWN_WITHIN_MS = 60_000;

/**
 * Only the credentials say whose the queue is: the outbox waits until they were read, but not longer than a minute from now. Readings are then
 * stored in it, and nothing is sent until the credentials are known. The returned function throws `host/read-failed` (retry).
 */
export function queueOwnerWithin({
  store,
  clock,
  log,
}: Pick<CredentialsStoreDeps, 'clock' | 'log'> & { readonly store: Pick<CredentialsStore, 'read'> }): () => Promise<void> {
  const untilMs = clock.monotonicMs() + KNOWN_WITHIN_MS;
  return async () => {
    const read = (): Promise<unknown> =>
      store.read().then(
        () => undefined,
        (error: unknown) => error,
      );
    const fault = await outcomeWithin(clock, Math.max(0, untilMs - clock.monotonicMs()), read, () => 'no answer');
    if (fault === undefined) return;
    if (hasCode(fault, 'host/read-failed') && clock.monotonicMs() < untilMs) throw fault;
    log.warn({}, 'the outbox is opened before the credentials could be read; nothing is sent until they are');
  };
}

/** Does nothing where nothing is to be set aside; may be cut short at any step, and is then done by the next. @throws what the disk says. */
export async function setFormerQueueAside({ stateFolder, files, store, log }: FormerQueueDeps): Promise<void> {
  if (!store.setsQueueAside) return;
  const [outbox, former] = [join(stateFolder, 'outbox'), join(stateFolder, FORMER_QUEUE)];
  // When it is not there it was renamed before: nobody makes it anew until the mark is removed.
  if ((await files.facts(outbox)) !== undefined) {
    await removeTreeDurably(files, former);
    await files.rename(outbox, former);
    await files.syncFolder(stateFolder);
    log.warn({ folder: former }, 'what waited for delivery as another device is set aside');
  }
  await store.queueIsAside();
}
