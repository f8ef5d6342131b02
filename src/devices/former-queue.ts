/**
 * The queue of the device that this board was before: set aside whole, before the outbox is opened, so that it never goes out as
 * the device that it is now. It stays for a person to look at until the next one takes its place.
 */
import { join } from 'node:path';
import { removeTreeDurably } from '../store/durable-file.ts';
import type { CredentialsStore, CredentialsStoreDeps } from './credentials-store.ts';

export interface FormerQueueDeps extends Pick<CredentialsStoreDeps, 'stateFolder' | 'files' | 'log'> {
  readonly store: Pick<CredentialsStore, 'setsQueueAside' | 'queueIsAside'>;
}

export const FORMER_QUEUE = 'outbox-of-former-device';
/** Attached devices, with their tokens and what waits of them, are the other board's, too. */
const SET_ASIDE = [
  ['devices', 'devices-of-former-device'],
  ['device-names.json', 'device-names-of-former-device.json'],
  ['outbox', FORMER_QUEUE],
  ['bands', 'bands-of-former-device'],
] as const;
/** Names that a whole other gateway takes, too: how the outputs of the former one were, by whom, and its totals. */
const SET_ASIDE_OF_GATEWAY = [
  ...[
    'outputs',
    'actuators',
    'standing-rules',
    'pulses',
    'operating-times',
    'shared-attributes',
    'standing-states',
    'claim',
  ].flatMap((name) =>
    ['', '.behind', '.tmp'].map((end) => [`${name}.json${end}`, `${name}-of-former-device.json${end}`] as const),
  ),
  ['rpc-journal.jsonl', 'rpc-journal-of-former-device.jsonl'],
  ['rpc.journal', 'rpc-of-former-device.journal'],
  ['timeline.jsonl', 'timeline-of-former-device.jsonl'],
  ['counters', 'counters-of-former-device'],
] as const;

/** Does nothing where nothing is to be set aside; may be cut short at any step, and is then done by the next. @throws what the disk says. */
export async function setFormerQueueAside({ stateFolder, files, store, log }: FormerQueueDeps): Promise<void> {
  if (!store.setsQueueAside) return;
  await moveAside({ stateFolder, files, log });
  await store.queueIsAside();
}

/** Moves what belongs to the device of before out of the way; goes on where it was cut short, as long as nothing new has taken a name. @throws what the disk says. */
export async function moveAside(deps: Pick<FormerQueueDeps, 'stateFolder' | 'files' | 'log'>): Promise<void> {
  await moveAll(SET_ASIDE, deps);
}

/** As `moveAside`, with all that the other gateway knew. */
export async function moveGatewayAside(deps: Pick<FormerQueueDeps, 'stateFolder' | 'files' | 'log'>): Promise<void> {
  await moveAll([...SET_ASIDE_OF_GATEWAY, ...SET_ASIDE], deps);
}

async function moveAll(
  names: readonly (readonly [string, string])[],
  { stateFolder, files, log }: Pick<FormerQueueDeps, 'stateFolder' | 'files' | 'log'>,
): Promise<void> {
  for (const [name, formerName] of names) {
    const [folder, former] = [join(stateFolder, name), join(stateFolder, formerName)];
    // When it is not there it was renamed before: nobody makes it anew until the mark is removed.
    if ((await files.facts(folder)) === undefined) continue;
    await removeTreeDurably(files, former);
    await files.rename(folder, former);
    await files.syncFolder(stateFolder);
    log.warn({ folder: former }, 'what waited for delivery as another device is set aside');
  }
}
