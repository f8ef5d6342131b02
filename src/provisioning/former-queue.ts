/**
 * What waits for delivery as the device that this board was before: set aside whole, before the outbox is opened, so that it never goes out as
 * the device that it is now. It stays for a person to look at, with the one before it: a token that was a slip and its correction lose nothing.
 */
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import { removeTreeDurably } from '../host/durable-file.ts';
import type { CredentialsStore, CredentialsStoreDeps } from './credentials-store.ts';

export interface FormerQueueDeps extends Pick<CredentialsStoreDeps, 'stateFolder' | 'files' | 'log' | 'alerts'> {
  readonly store: Pick<CredentialsStore, 'setsQueueAside' | 'queueIsAside'>;
}

export const FORMER_QUEUE = 'outbox-of-former-device';
const QUEUE_BEFORE = `${FORMER_QUEUE}.before`;
const FORMER_QUEUE_ALERT = 'queue-of-former-device';

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
export async function setFormerQueueAside({ stateFolder, files, store, log, alerts }: FormerQueueDeps): Promise<void> {
  if (!store.setsQueueAside) return;
  const [outbox, former, before] = ['outbox', FORMER_QUEUE, QUEUE_BEFORE].map((name) => join(stateFolder, name)) as [
    string,
    string,
    string,
  ];
  // When it is not there it was renamed before: nobody makes it anew until the mark is removed.
  if ((await files.facts(outbox)) !== undefined) {
    if ((await files.facts(former)) !== undefined) {
      await removeTreeDurably(files, before);
      await files.rename(former, before);
    }
    await files.rename(outbox, former);
    await files.syncFolder(stateFolder);
    log.warn({ folder: former }, 'what waited for delivery as another device is set aside');
    alerts.raise(
      FORMER_QUEUE_ALERT,
      `what waited for delivery as another device is set aside in ${former} (what was there before: ${before}) and not sent as this one. ` +
        `To deliver it: start the agent once with the access token of the device that it belongs to, stop it, and move the folder in place of ${outbox}`,
    );
  }
  await store.queueIsAside();
}
