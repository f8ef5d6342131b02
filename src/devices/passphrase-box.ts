/**
 * Content as one text under a passphrase: scrypt for the key, AES-256-GCM for the content, so that a wrong passphrase and a changed byte are
 * told from a good file. What is in the clear says only how to open it.
 */
import { createCipheriv, createDecipheriv, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { refusal } from '../errors/agent-error.ts';
import type { RandomBytes } from '../host/random.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
import { mismatchOf, type ValueShape } from '../values/value-shape.ts';

/** One sort of file. */
export interface BoxFormat {
  readonly format: string;
  readonly version: number;
  /** `identity file`, as messages call it. */
  readonly noun: string;
  /** Whoever opens it is what a weak passphrase gives away: `this device`. */
  readonly gives: string;
  /** Longest text. */
  readonly maxLength: number;
}

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

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export function expectStrongPassphrase(passphrase: string, { gives }: Pick<BoxFormat, 'gives'>): void {
  if (passphrase.length >= MIN_PASSPHRASE_LENGTH) return;
  throw refusal(
    'provisioning/weak-passphrase',
    `a passphrase of at least ${MIN_PASSPHRASE_LENGTH} characters is needed: whoever opens the file is ${gives}`,
  );
}

/** @throws AgentError `provisioning/weak-passphrase` (drop). */
export async function sealUnderPassphrase(
  box: BoxFormat,
  content: string | Uint8Array,
  passphrase: string,
  randomBytes: RandomBytes,
): Promise<string> {
  expectStrongPassphrase(passphrase, box);
  const salt = randomBytes(16);
  const iv = randomBytes(IV_BYTES);
  const { format, version } = box;
  const header = { format, version, scrypt: SCRYPT, salt: salt.toString('base64'), iv: iv.toString('base64') };
  const cipher = createCipheriv(CIPHER, await keyOf(passphrase, salt), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(stringifyJson(header)));
  const sealed = Buffer.concat([cipher.update(Buffer.from(content)), cipher.final()]);
  return `${stringifyJson({ ...header, tag: cipher.getAuthTag().toString('base64'), content: sealed.toString('base64') })}\n`;
}

/** The content as it was sealed: the tag proves it. @throws AgentError `provisioning/not-an-archive` (drop), `provisioning/wrong-passphrase` (drop). */
export async function openUnderPassphrase(box: BoxFormat, text: string, passphrase: string): Promise<Buffer> {
  const { tag, content, ...header } = parsed(box, text);
  const key = await keyOf(passphrase, bytesOf(header.salt));
  try {
    const decipher = createDecipheriv(CIPHER, key, bytesOf(header.iv), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(stringifyJson(header)));
    decipher.setAuthTag(bytesOf(tag));
    return Buffer.concat([decipher.update(bytesOf(content)), decipher.final()]);
  } catch {
    // Without cause: it may quote what was deciphered.
    throw refusal(
      'provisioning/wrong-passphrase',
      `the ${box.noun} does not open: wrong passphrase, or the file was changed`,
    );
  }
}

function parsed({ format, version, noun, maxLength }: BoxFormat, text: string): JsonObject {
  let json: JsonValue;
  try {
    json = parseJson(text, { length: maxLength, depth: 4 });
  } catch (cause) {
    throw refusal('provisioning/not-an-archive', `this is no ${noun}: it is not whole`, cause);
  }
  if (!isJsonObject(json)) throw refusal('provisioning/not-an-archive', `this is no ${noun}`);
  if (json.format === format && typeof json.version === 'number' && json.version > version)
    throw refusal(
      'provisioning/not-an-archive',
      `this ${noun} was written by a later release (format version ${json.version})`,
    );
  const { content, ...rest } = json;
  const mismatch = mismatchOf(shapeOf(format, version), rest, 'file');
  if (mismatch !== undefined) throw refusal('provisioning/not-an-archive', `this is no ${noun}: ${mismatch}`);
  // By itself: it may have megabytes, which a mismatch would quote.
  if (typeof content !== 'string' || !BASE64.test(content))
    throw refusal('provisioning/not-an-archive', `this is no ${noun}: its content is not whole`);
  return json;
}

function shapeOf(format: string, version: number): ValueShape {
  return {
    type: 'object',
    required: ['format', 'version', 'scrypt', 'salt', 'iv', 'tag'],
    properties: {
      format: { enum: [format] },
      version: { enum: [version] },
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
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  // Twice what N and r need: the default would be just too little.
  return derived(passphrase.normalize('NFC'), salt, KEY_BYTES, { ...SCRYPT, maxmem: 256 * SCRYPT.N * SCRYPT.r });
}

function bytesOf(value: JsonValue | undefined): Buffer {
  return Buffer.from(String(value), 'base64');
}
