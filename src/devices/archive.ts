/**
 * One text under a passphrase that leaves this machine: a gateway's identity, an attached device, or a whole gateway.
 *
 *   content (JSON) → gzip → AES-256-GCM, key by scrypt → { format, version, kind, scrypt, salt, iv, tag, content }
 *
 * The part in the clear says what is in it and how to open it. It is proven with the content: no archive passes for another kind.
 */
import { createCipheriv, createDecipheriv, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type AgentError, refusal } from '../errors/agent-error.ts';
import type { RandomBytes } from '../host/random.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
import { mismatchOf, type ValueShape } from '../values/value-shape.ts';

export type ArchiveKind = 'identity' | 'device' | 'gateway';

interface KindWords {
  readonly holds: string;
  /** Becomes of whoever opens it, in words. */
  readonly gives: string;
  readonly writtenBy: string;
  readonly readBy: string;
  /** Longest text, in UTF-16 units. */
  readonly maxLength: number;
}

const FORMAT = 'turnstone/archive';
const VERSION = 1;
/** Formats of the releases before this one, which a reader names. */
const FORMER_FORMATS: readonly JsonValue[] = ['turnstone/identity', 'turnstone/gateway'];
/** Longest content before it is packed, in bytes: the files of a gateway in base64, and their names. */
const MAX_CONTENT_BYTES = 12 * 1024 * 1024;
const MAX_CONTENT_DEPTH = 6;
/** Largest archive of any kind, in bytes: a content that gzip makes no smaller, in base64. */
export const MAX_ARCHIVE_BYTES = 2 * MAX_CONTENT_BYTES;
/** Some two kB, and below what a request over the control socket may have. */
const MAX_IDENTITY_LENGTH = 128 * 1024;
const KINDS: Readonly<Record<ArchiveKind, KindWords>> = {
  identity: {
    holds: 'a gateway’s identity',
    gives: 'this device',
    writtenBy: 'turnstone identity export FILE',
    readBy: 'turnstone identity import FILE',
    maxLength: MAX_IDENTITY_LENGTH,
  },
  device: {
    holds: 'an attached device',
    gives: 'that device',
    writtenBy: 'turnstone devices move NAME --to FILE',
    readBy: 'turnstone devices move --from FILE --slot SLOT',
    maxLength: MAX_IDENTITY_LENGTH,
  },
  gateway: {
    holds: 'a whole gateway',
    gives: 'this gateway',
    writtenBy: 'turnstone backup FILE',
    readBy: 'turnstone restore FILE',
    maxLength: MAX_ARCHIVE_BYTES,
  },
};

const derived = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);
/** 32 MB and about a tenth of a second on a desktop; a board of a few watts takes a second. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 1 };
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Below it a passphrase is guessed sooner than the token. */
const MIN_PASSPHRASE_LENGTH = 10;
const SHORT_BASE64: ValueShape = { type: 'string', pattern: '^[A-Za-z0-9+/]+=*$', maxLength: 64 };
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const CLEAR_PART: ValueShape = {
  type: 'object',
  required: ['format', 'version', 'kind', 'scrypt', 'salt', 'iv', 'tag'],
  properties: {
    format: { enum: [FORMAT] },
    version: { enum: [VERSION] },
    kind: { enum: Object.keys(KINDS) },
    // A file comes from outside: it may not ask for another amount of memory and time.
    scrypt: {
      type: 'object',
      properties: { N: { enum: [SCRYPT.N] }, r: { enum: [SCRYPT.r] }, p: { enum: [SCRYPT.p] } },
    },
    salt: SHORT_BASE64,
    iv: SHORT_BASE64,
    tag: SHORT_BASE64,
  },
};

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export function expectStrongPassphrase(kind: ArchiveKind, passphrase: string): void {
  if (passphrase.length >= MIN_PASSPHRASE_LENGTH) return;
  throw refusal(
    'provisioning/weak-passphrase',
    `a passphrase of at least ${MIN_PASSPHRASE_LENGTH} characters is needed: whoever opens the file is ${KINDS[kind].gives}`,
  );
}

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export async function sealArchive(
  kind: ArchiveKind,
  content: JsonObject,
  passphrase: string,
  randomBytes: RandomBytes,
): Promise<string> {
  expectStrongPassphrase(kind, passphrase);
  const salt = randomBytes(16);
  const iv = randomBytes(IV_BYTES);
  const clear = {
    format: FORMAT,
    version: VERSION,
    kind,
    scrypt: SCRYPT,
    salt: salt.toString('base64'),
    iv: iv.toString('base64'),
  };
  const packed = await promisify(gzip)(stringifyJson(content));
  const cipher = createCipheriv(CIPHER, await keyOf(passphrase, salt), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(stringifyJson(clear)));
  const sealed = Buffer.concat([cipher.update(packed), cipher.final()]);
  return `${stringifyJson({ ...clear, tag: cipher.getAuthTag().toString('base64'), content: sealed.toString('base64') })}\n`;
}

/**
 * Says what is wrong with a text before anybody is asked for its passphrase.
 * @throws AgentError `provisioning/not-an-archive` (drop), `provisioning/wrong-archive` (drop).
 */
export function expectArchive(kind: ArchiveKind, text: string): void {
  archiveIn(kind, text);
}

/**
 * Returns the content as it was sealed: the tag proves it.
 * @throws AgentError as `expectArchive`, `provisioning/wrong-passphrase` (drop).
 */
export async function openArchive(kind: ArchiveKind, text: string, passphrase: string): Promise<JsonObject> {
  const { tag, content, ...clear } = archiveIn(kind, text);
  const key = await keyOf(passphrase, bytesOf(clear.salt));
  let packed: Buffer;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytesOf(clear.iv), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(stringifyJson(clear)));
    decipher.setAuthTag(bytesOf(tag));
    packed = Buffer.concat([decipher.update(bytesOf(content)), decipher.final()]);
  } catch {
    // Without cause: it may quote what was deciphered.
    throw refusal(
      'provisioning/wrong-passphrase',
      'the archive does not open: wrong passphrase, or the file was changed',
    );
  }
  const unpacked = await unpack(packed);
  if (!isJsonObject(unpacked)) throw damaged('its content is no object');
  return unpacked;
}

async function unpack(packed: Buffer): Promise<JsonValue> {
  try {
    const bytes = await promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)(packed, {
      maxOutputLength: MAX_CONTENT_BYTES,
    });
    return parseJson(bytes.toString('utf8'), { length: MAX_CONTENT_BYTES, depth: MAX_CONTENT_DEPTH });
  } catch {
    // Without cause: the parser quotes the content.
    throw damaged('its content does not unpack');
  }
}

function archiveIn(kind: ArchiveKind, text: string): JsonObject {
  const json = clearIn(text);
  const { format, version } = json;
  if (FORMER_FORMATS.includes(format ?? null))
    throw refusal(
      'provisioning/not-an-archive',
      `this archive is of a release before 0.1.0, whose archives are not read any more: write it anew there, after an update, with ${KINDS[kind].writtenBy}`,
    );
  if (format === FORMAT && typeof version === 'number' && version > VERSION)
    throw refusal(
      'provisioning/not-an-archive',
      `this archive was written by a later release (format version ${version}): update this one first`,
    );
  const { content, ...clear } = json;
  const mismatch = mismatchOf(CLEAR_PART, clear, 'file');
  if (mismatch !== undefined) throw damaged(mismatch);
  const found = KINDS[clear.kind as ArchiveKind];
  if (clear.kind !== kind)
    throw refusal('provisioning/wrong-archive', `this archive holds ${found.holds}: use ${found.readBy}`);
  if (text.length > found.maxLength) throw damaged(`it has more than ${found.maxLength} characters`);
  // Checked apart from the other parts: a mismatch quotes what it found, and this may have megabytes.
  if (typeof content !== 'string' || !BASE64.test(content)) throw damaged('its content is not whole');
  return json;
}

function clearIn(text: string): JsonObject {
  let json: JsonValue;
  try {
    json = parseJson(text, { length: MAX_ARCHIVE_BYTES, depth: 4 });
  } catch (cause) {
    throw damaged('it is not whole', cause);
  }
  if (!isJsonObject(json)) throw damaged('it is no object');
  return json;
}

function damaged(why: string, cause?: unknown): AgentError {
  return refusal('provisioning/not-an-archive', `this is no archive of Turnstone, or a damaged one: ${why}`, cause);
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  // Twice what N and r need: the default would be just too little.
  return derived(passphrase.normalize('NFC'), salt, KEY_BYTES, { ...SCRYPT, maxmem: 256 * SCRYPT.N * SCRYPT.r });
}

function bytesOf(value: JsonValue | undefined): Buffer {
  return Buffer.from(String(value), 'base64');
}
