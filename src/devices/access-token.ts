/** Access tokens the device makes for itself, and what it accepts as one from others. */
import { createHash } from 'node:crypto';
import { refusal } from '../errors/agent-error.ts';
import { type RandomBytes, randomText } from '../host/random.ts';

/** Letters and digits only: safe in a path, in YAML, in a shell and on a label. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 190 bits; the platform's own form takes at most 32 characters. */
const TOKEN_LENGTH = 32;
/** As long as the platform's database column for credentials ids. */
const MAX_TOKEN_LENGTH = 255;

/** A new token that nobody can guess. */
export function makeAccessToken(random: RandomBytes, length = TOKEN_LENGTH): string {
  return randomText(random, ALPHABET, length);
}

/** True for a text that can be an access token: printable, without spaces, not too long. */
export function isAccessToken(text: string): boolean {
  // In a path, `.` and `..` would lead to another folder.
  return text.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(text) && !/^\.{1,2}$/.test(text);
}

/** @throws AgentError `provisioning/bad-token` (drop) for a text that cannot be one. */
export function expectAccessToken(text: string): void {
  if (!isAccessToken(text))
    throw refusal('provisioning/bad-token', 'an access token has 1 to 255 printable characters without spaces');
}

/** Tells tokens apart without revealing them. */
export function fingerprintOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}
