/** A device's identity as one text file under a passphrase. */
import type { EpochMs } from '../host/clock.ts';
import type { RandomBytes } from '../host/random.ts';
import { parseJson, stringifyJson } from '../values/json.ts';
import type { CredentialsRecord, ProvisionSecret } from './credentials-record.ts';
import { type BoxFormat, openUnderPassphrase, sealUnderPassphrase } from './passphrase-box.ts';

export interface PortableIdentity {
  readonly record: CredentialsRecord;
  readonly provisionSecret?: ProvisionSecret;
  readonly exportedAtMs: EpochMs;
  /** Present of an attached device: what it is called, and the number by which it is known. */
  readonly attached?: { readonly name: string; readonly serialNumber?: string };
}

const IDENTITY_FILE: BoxFormat = {
  format: 'turnstone/identity',
  version: 1,
  noun: 'identity file',
  gives: 'this device',
  maxLength: 256 * 1024,
};

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export function exportIdentity(
  identity: PortableIdentity,
  passphrase: string,
  randomBytes: RandomBytes,
): Promise<string> {
  return sealUnderPassphrase(IDENTITY_FILE, stringifyJson(identity), passphrase, randomBytes);
}

/** @throws AgentError `provisioning/not-an-archive` (drop), `provisioning/wrong-passphrase` (drop). */
export async function importIdentity(text: string, passphrase: string): Promise<PortableIdentity> {
  const content = await openUnderPassphrase(IDENTITY_FILE, text, passphrase);
  // The tag proves that it is what was exported.
  return parseJson(content.toString('utf8')) as unknown as PortableIdentity;
}
