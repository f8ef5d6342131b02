/**
 * Faults that are planted on purpose, each a substitution in one file of `src`: the simulator is to find them. A text that is not there exactly
 * once is an error, so whoever moves the code moves its fault too.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface PlantedFault {
  /** Wrong behaviour of the program with it, in a few words; unique. */
  readonly name: string;
  /** Beneath `src`. */
  readonly file: string;
  readonly old: string;
  readonly new: string;
  /** Troubles, deeds, equipment, `lockout`, `small outbox`, `provisions`, `attached devices`, `attached relays`, `measures`, `page` (`a|b`: either) without which it does not show; worlds that have them are tried first. */
  readonly needs?: readonly string[];
  /** Rate of a directed world: troubles in an hour, and how long it lasts until the calm. */
  readonly perHour?: number;
  readonly hours?: number;
}

export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/** The file's text with the fault in it. @throws Error when its old text is not there exactly once. */
export function withFault({ name, file, old, new: planted }: PlantedFault): string {
  const text = readFileSync(join(PROJECT, 'src', file), 'utf8');
  const found = text.split(old).length - 1;
  if (found !== 1)
    throw new Error(`planted fault "${name}": its old text is ${found} times in src/${file}, and is to be there once`);
  return text.replace(old, () => planted);
}
