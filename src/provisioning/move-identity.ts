/** Moves a device's place from board to board: what each move does to the kept credentials. Nothing here speaks to the platform. */
import { AgentError } from '../errors.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { CredentialsPlace } from './credentials-record.ts';
import type { CredentialsStore } from './credentials-store.ts';
import { exportIdentity, importIdentity } from './identity-archive.ts';

export interface MoveDeps {
  readonly store: CredentialsStore;
  readonly board: BoardIdentity;
  /** Whose credentials are in use: those of the configuration's token, or the board's own. */
  readonly place: CredentialsPlace;
}

/** The identity in use as a file's text. @throws AgentError `provisioning/no-credentials` (drop), `provisioning/weak-passphrase` (drop). */
export async function packIdentity({ store, place }: MoveDeps, passphrase: string, nowMs: number): Promise<string> {
  const record = store.record(place);
  if (record?.phase !== 'in-use') {
    throw new AgentError('provisioning/no-credentials', 'there is no identity to export: this board has not been provisioned', {
      recovery: 'drop',
    });
  }
  const { provisionSecret } = store;
  return exportIdentity({ record, exportedAtMs: nowMs, ...(provisionSecret === undefined ? {} : { provisionSecret }) }, passphrase);
}

/**
 * Makes this board the device of an exported identity. Its generation is higher than the old board's, which is how that one notices.
 * @throws AgentError `provisioning/has-credentials` (drop) when this board has an identity of its own and `replace` is not set,
 * `provisioning/not-an-identity` (drop), `provisioning/wrong-passphrase` (drop), `host/write-failed` (retry).
 */
export async function unpackIdentity(
  { store, board }: Pick<MoveDeps, 'store' | 'board'>,
  file: { readonly text: string; readonly passphrase: string; readonly replace: boolean },
): Promise<{ readonly deviceName?: string }> {
  const own = store.record('own');
  if (own?.phase === 'in-use' && !file.replace) {
    const name = own.deviceName === undefined ? '' : ` as "${own.deviceName}"`;
    throw new AgentError('provisioning/has-credentials', `this board is provisioned already${name}; --replace gives that up`, {
      recovery: 'drop',
    });
  }
  const { record, provisionSecret } = await importIdentity(file.text, file.passphrase);
  const { configuredToken: _configured, replacedBy: _replaced, ...rest } = record;
  await store.save('own', { ...rest, phase: 'in-use', source: 'imported', board, generation: record.generation + 1 });
  if (provisionSecret !== undefined) await store.saveProvisionSecret(provisionSecret);
  return record.deviceName === undefined ? {} : { deviceName: record.deviceName };
}

/**
 * The card was moved here for good: this board is the credentials' home from now on, and any other that has them is to notice.
 * @throws AgentError `provisioning/no-credentials` (drop), `host/write-failed` (retry).
 */
export async function adoptIdentity({ store, board, place }: MoveDeps): Promise<void> {
  const record = store.record(place);
  if (record === undefined) {
    throw new AgentError('provisioning/no-credentials', 'there is no identity to adopt', { recovery: 'drop' });
  }
  const { replacedBy = 0, ...rest } = record;
  await store.save(place, { ...rest, board, generation: Math.max(record.generation, replacedBy) + 1 });
}
