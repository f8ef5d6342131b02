/**
 * Plain messages of ciphered ones (IEC 62056-5-3, security suites 0 and 1: AES-128 in Galois counter mode):
 *
 *   DB  length  system title  length  control  frame counter (4)  ciphered  tag (12, of an authenticated one)     general-glo-ciphering
 *   C8 … D6  length  control  frame counter (4)  ciphered  tag                                                     glo-…, without a title
 */
import { createDecipheriv } from 'node:crypto';
import { type AgentError, messageOf } from '../../../errors/agent-error.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import { lengthAt } from './axdr-length.ts';

const GENERAL_GLO = 0xdb;
const GENERAL_DED = 0xdc;
/** Requests and responses that are ciphered with the global key, each with a tag of its own. */
const GLO = [0xc8, 0xd6] as const;
const TITLE_LENGTH = 8;
const HEADER_LENGTH = 5;
const TAG_LENGTH = 12;
const SUITE = 0x0f;
/** Suite 2 has keys of 256 bits. */
const MAX_SUITE = 1;
const AUTHENTICATED = 0x10;
const ENCRYPTED = 0x20;
const COMPRESSED = 0x80;

export interface Keys {
  readonly key: Uint8Array | undefined;
  readonly authenticationKey: Uint8Array | undefined;
  /** Title for messages without one. */
  readonly systemTitle: Uint8Array | undefined;
}

interface Ciphered {
  readonly title: Uint8Array;
  readonly content: Uint8Array;
}

/** Returns a plain message as it is. @throws AgentError `sensors/wrong-key` (retry). @throws RangeError for a message that is cut off. */
export function plainOf(message: Uint8Array, keys: Keys): { readonly plain: Uint8Array; readonly isProved: boolean } {
  const [tag = 0] = message;
  const isGeneral = tag === GENERAL_GLO || tag === GENERAL_DED;
  if (!isGeneral && (tag < GLO[0] || tag > GLO[1])) return { plain: message, isProved: true };
  return decipher(isGeneral ? generalOf(message) : gloOf(message, keys), keys);
}

function generalOf(message: Uint8Array): Ciphered {
  const title = lengthAt(message, 1);
  const titleEnd = title.at + title.length;
  return { title: message.subarray(title.at, titleEnd), content: contentOf(message, titleEnd) };
}

function gloOf(message: Uint8Array, { systemTitle }: Keys): Ciphered {
  if (systemTitle === undefined)
    throw sensorFault('wrong-key', 'the meter encrypts and sends no system title with it (option systemTitle)');
  return { title: systemTitle, content: contentOf(message, 1) };
}

/** @throws RangeError for another length than that of the message. */
function contentOf(message: Uint8Array, from: number): Uint8Array {
  const { length, at } = lengthAt(message, from);
  if (at + length !== message.length || length <= HEADER_LENGTH)
    throw new RangeError('an encrypted message of another length than it says');
  return message.subarray(at);
}

function decipher(
  { title, content }: Ciphered,
  { key, authenticationKey }: Keys,
): { readonly plain: Uint8Array; readonly isProved: boolean } {
  const [control = 0] = content;
  if (title.length !== TITLE_LENGTH) throw new RangeError('a system title of another length than eight bytes');
  if ((control & SUITE) > MAX_SUITE || (control & COMPRESSED) !== 0)
    throw sensorFault(
      'bad-reading',
      `the meter encrypts in a way that is not known here (security control ${control})`,
    );
  const isAuthenticated = (control & AUTHENTICATED) !== 0;
  const isEncrypted = (control & ENCRYPTED) !== 0;
  const end = content.length - (isAuthenticated ? TAG_LENGTH : 0);
  if (end < HEADER_LENGTH) throw new RangeError('an encrypted message that ends within its tag');
  const body = content.subarray(HEADER_LENGTH, end);
  const isProved = isAuthenticated && authenticationKey !== undefined;
  if (!isEncrypted && !isProved) return { plain: body, isProved: false };
  if (key === undefined)
    throw sensorFault('wrong-key', 'the meter encrypts its messages, and there is no key (option key)');
  const cipher = createDecipheriv('aes-128-gcm', key, Buffer.concat([title, content.subarray(1, HEADER_LENGTH)]), {
    authTagLength: TAG_LENGTH,
  });
  if (authenticationKey !== undefined && isAuthenticated) {
    cipher.setAAD(Buffer.concat([Uint8Array.of(control), authenticationKey, isEncrypted ? Buffer.alloc(0) : body]));
    cipher.setAuthTag(content.subarray(end));
  }
  const plain = isEncrypted ? cipher.update(body) : body;
  if (isProved) finish(cipher);
  return { plain, isProved };
}

function finish(cipher: { final(): unknown }): void {
  try {
    cipher.final();
  } catch (cause) {
    throw wrongKey(`its proof fails: ${messageOf(cause)}`, cause);
  }
}

export function wrongKey(why: string, cause?: unknown): AgentError {
  return sensorFault('wrong-key', `the key is not that of the meter, or the authentication key is not (${why})`, cause);
}
