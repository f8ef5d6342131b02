/**
 * A device's identity as one text file under a passphrase: scrypt for the key, AES-256-GCM for the content, so that a wrong passphrase and
 * a changed byte are told from a good file. What is in the clear says only how to open it.
 */

import { createCipheriv, createDecipheriv, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { refusal } from '../errors/agent-error.ts';
import type { EpochMs } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { RandomBytes } from '../host/random.ts';
import { mismatchOf, type ValueShape } from '../host/value-shape.ts';
import type { CredentialsRecord, ProvisionSecret } from './credentials-record.ts';

export interface PortableIdentity {
  readonly record: CredentialsRecord;
  readonly provisionSecret?: ProvisionSecret;
  readonly exportedAtMs: EpochMs;
  /** Present of an attached device: what it is called, and the number by which it is known. */
  readonly attached?: { readonly name: string; readonly serialNumber?: string };
}

const derived = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
const FORMAT = 'turnstone/identity';
const VERSION = 1;
/** 32 MB and about a tenth of a second on a desktop; a board of a few watts takes a second. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 1 };
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Below it a passphrase is guessed sooner than the token. */
const MIN_PASSPHRASE_LENGTH = 10;

const BASE64: ValueShape = { type: 'string', pattern: '^[A-Za-z0-9+/]+=*$', maxLength: 65_536 };
const ARCHIVE: ValueShape = {
  type: 'object',
  required: ['format', 'version', 'scrypt', 'salt', 'iv', 'tag', 'content'],
  properties: {
    format: { enum: [FORMAT] },
    version: { enum: [VERSION] },
    // A file comes from outside: it may not ask for another amount of memory and time.
    scrypt: { type: 'object', properties: { N: { enum: [SCRYPT.N] }, r: { enum: [SCRYPT.r] }, p: { enum: [SCRYPT.p] } } },
    salt: BASE64,
    iv: BASE64,
    tag: BASE64,
    content: BASE64,
  },
};

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export async function exportIdentity(identity: PortableIdentity, passphrase: string, randomBytes: RandomBytes): Promise<string> {
  if (passphrase.length < MIN_PASSPHRASE_LENGTH) {
    throw refusal(
      'provisioning/weak-passphrase',
      `a passphrase of at least ${MIN_PASSPHRASE_LENGTH} characters is needed: whoever opens the file is this device`,
    );
  }
  const salt = randomBytes(16);
  const iv = randomBytes(IV_BYTES);
  const header = { format: FORMAT, version: VERSION, scrypt: SCRYPT, salt: salt.toString('base64'), iv: iv.toString('base64') };
  const cipher = createCipheriv(CIPHER, await keyOf(passphrase, salt), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(stringifyJson(header)));
  const content = Buffer.concat([cipher.update(stringifyJson(identity), 'utf8'), cipher.final()]);
  return `${stringifyJson({ ...header, tag: cipher.getAuthTag().toString('base64'), content: content.toString('base64') })}\n`;
}

/** @throws AgentError `provisioning/not-an-identity` (drop), `provisioning/wrong-passphrase` (drop). */
export async function importIdentity(text: string, passphrase: string): Promise<PortableIdentity> {
  const { tag, content, ...header } = parsedArchive(text);
  const key = await keyOf(passphrase, bytesOf(header.salt));
  try {
    const decipher = createDecipheriv(CIPHER, key, bytesOf(header.iv), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(stringifyJson(header)));
    decipher.setAuthTag(bytesOf(tag));
    const plain = Buffer.concat([decipher.update(bytesOf(content)), decipher.final()]).toString('utf8');
    // The tag proves that it is what was exported.
    return parseJson(plain) as unknown as PortableIdentity;
  } catch {
    // Without cause: it may quote what was deciphered.
    throw refusal('provisioning/wrong-passphrase', 'the identity file does not open: wrong passphrase, or the file was changed');
  }
}

function parsedArchive(text: string): JsonObject {
  let json: JsonValue;
  try {
    json = parseJson(text, { length: 256 * 1024, depth: 4 });
  } catch (cause) {
    throw refusal('provisioning/not-an-identity', 'this is no identity file: it is not whole', cause);
  }
  if (!isJsonObject(json)) throw refusal('provisioning/not-an-identity', 'this is no identity file');
  if (json.format === FORMAT && typeof json.version === 'number' && json.version > VERSION)
    throw refusal('provisioning/not-an-identity', `this identity file was written by a later release (format version ${json.version})`);
  const mismatch = mismatchOf(ARCHIVE, json, 'file');
  if (mismatch !== undefined) throw refusal('provisioning/not-an-identity', `this is no identity file: ${mismatch}`);
  return json;
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  // Twice what N and r need: the default would be just too little.
  return derived(passphrase.normalize('NFC'), salt, KEY_BYTES, { ...SCRYPT, maxmem: 256 * SCRYPT.N * SCRYPT.r });
}

function bytesOf(value: JsonValue | undefined): Buffer {
  return Buffer.from(String(value), 'base64');
}
