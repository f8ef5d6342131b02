/** Random bytes that nobody may guess, for tokens, keys and ids. How waits are spread is the clock's matter (`Clock.jitter`). */
import { randomBytes } from 'node:crypto';

/** That many bytes that nobody can foretell. */
export type RandomBytes = (count: number) => Buffer;

/** The machine's. */
export const systemRandomBytes: RandomBytes = (count) => randomBytes(count);

/** Letters of the alphabet, at most 256 of them, each as likely as the others. */
export function randomText(random: RandomBytes, alphabet: string, length: number): string {
  // Above the last whole turn through the alphabet its first letters would come more often.
  const end = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) if (byte < end) text += alphabet[byte % alphabet.length];
  }
  return text;
}

/** A version 4 UUID (RFC 9562, section 5.4). */
export function randomId(random: RandomBytes): string {
  const bytes = random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
