/** Moves a device's place from board to board: what each move does to the kept credentials. Nothing here speaks to the platform. */

import { refusal } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { RandomBytes } from '../host/random.ts';
import { jsonOf } from '../values/json.ts';
import { openArchive, sealArchive } from './archive.ts';
import { type CredentialsPlace, type CredentialsRecord, type ProvisionSecret, tokensOf } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';

/** Content of an archive of kind `identity`, and with `attached` of kind `device`. */
export interface PortableIdentity {
  readonly record: CredentialsRecord;
  readonly provisionSecret?: ProvisionSecret;
  readonly exportedAtMs: EpochMs;
  /** Present of an attached device: what it is called, and the number by which it is known. */
  readonly attached?: { readonly name: string; readonly serialNumber?: string };
}

export interface MoveDeps {
  readonly store: CredentialsStore;
  readonly board: BoardIdentity;
  /** Whose credentials are in use: those of the configuration's token, or the board's own. */
  readonly place: CredentialsPlace;
}

/** The identity in use as an archive's text. @throws AgentError `provisioning/no-credentials` (drop), `provisioning/weak-passphrase` (drop). */
export async function packIdentity(
  {
    store,
    place,
    randomBytes,
    attached,
  }: Pick<MoveDeps, 'store' | 'place'> & {
    readonly randomBytes: RandomBytes;
    readonly attached?: PortableIdentity['attached'];
  },
  passphrase: string,
  nowMs: number,
): Promise<string> {
  const record = inUse({ store, place }, 'export');
  const identity: PortableIdentity = {
    record,
    exportedAtMs: nowMs,
    provisionSecret: store.provisionSecret,
    attached,
  };
  return sealArchive(attached === undefined ? 'identity' : 'device', jsonOf(identity), passphrase, randomBytes);
}

/**
 * Makes this board the device of an exported identity, with a higher generation, by which the old board notices. A queue that was measured as
 * another device is set aside.
 * @throws AgentError `provisioning/has-credentials` (drop) when this board has an identity of its own and `replace` is not set,
 * `provisioning/not-an-archive` (drop), `provisioning/wrong-archive` (drop), `provisioning/wrong-passphrase` (drop), `host/write-failed` (retry).
 */
export async function unpackIdentity(
  { store, board }: Pick<MoveDeps, 'store' | 'board'>,
  file: { readonly text: string; readonly passphrase: string; readonly replace: boolean },
): Promise<{ readonly deviceName?: string; readonly setsQueueAside: boolean }> {
  const own = store.record('own');
  // A token that is only proposed after others makes a device anew that there was: its queue was measured as that one.
  const isDevice = own?.phase === 'in-use' || own?.previousTokens !== undefined;
  if (isDevice && !file.replace) {
    const name = own.deviceName === undefined ? '' : ` as "${own.deviceName}"`;
    throw refusal('provisioning/has-credentials', `this board is provisioned already${name}; --replace gives that up`);
  }
  // The tag proves that it is what was packed.
  const identity = (await openArchive('identity', file.text, file.passphrase)) as unknown as PortableIdentity;
  // Readings of a board without an identity belong to whichever device it becomes.
  const setsQueueAside = isDevice && !isSameDevice(own, identity.record);
  await takeIdentity({ store, board }, identity, { setsQueueAside });
  return { deviceName: identity.record.deviceName, setsQueueAside };
}

/** Keeps an identity as this board's own, with a higher generation than it had. @throws AgentError `host/write-failed` (retry). */
export async function takeIdentity(
  { store, board }: Pick<MoveDeps, 'store' | 'board'>,
  { record, provisionSecret }: PortableIdentity,
  { setsQueueAside }: { readonly setsQueueAside: boolean },
): Promise<void> {
  const { configuredToken: _configured, replacedBy: _replaced, ...rest } = record;
  const more = { provisionSecret, setsQueueAside: setsQueueAside || undefined };
  await store.replaceOwn(
    { ...rest, phase: 'in-use', source: 'imported', board, generation: record.generation + 1, takesOver: true },
    more,
  );
}

/** True when they have a token in common, as when a board imports its own export. */
export function isSameDevice(one: CredentialsRecord, other: CredentialsRecord): boolean {
  const known = tokensOf(one);
  return tokensOf(other).some((token) => known.includes(token));
}

/**
 * For a card that was moved here for good: the credentials belong to this board from now on, and any other board that has them will notice.
 * @throws AgentError `provisioning/no-credentials` (drop), `host/write-failed` (retry).
 */
export async function adoptIdentity({ store, board, place }: MoveDeps): Promise<void> {
  const record = inUse({ store, place }, 'adopt');
  await store.save(place, (now = record) => {
    const { replacedBy = 0, ...rest } = now;
    return { ...rest, board, generation: Math.max(now.generation, replacedBy) + 1, takesOver: true };
  });
}

/** The record in use; one that is only proposed belongs to no device yet. */
function inUse({ store, place }: Pick<MoveDeps, 'store' | 'place'>, what: 'export' | 'adopt'): CredentialsRecord {
  const record = store.record(place);
  if (record?.phase === 'in-use') return record;
  throw refusal('provisioning/no-credentials', `there is no identity to ${what}: this board has not been provisioned`);
}
