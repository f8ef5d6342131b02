/**
 * The file of variables that the unit's EnvironmentFile= reads for `${…}`, for the commands that a person types beside the service. Of
 * systemd's syntax: `KEY=VALUE` lines, quotes, a backslash before a sign and at a line's end, comments.
 */
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import type { Environment } from '../host/environment.ts';
import { isUserFileSeen, readUserFile } from '../host/whole-file.ts';
import { DEFAULT_CONFIG_FILE } from './fields/default-places.ts';

/** Its name, beside the configuration. */
export const ENVIRONMENT_NAME = 'environment';
const MAX_BYTES = 64 * 1024;
const MAX_VARIABLES = 1_000;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const BLANK = /\s/;
/** Signs that a backslash protects within double quotes; before any other it is a sign itself. */
const PROTECTED = /["\\$`]/;

/** The variables of a text, read as systemd reads it: quotes count where a value begins; what is no variable is left out. */
export function environmentIn(text: string): Environment {
  const found = new Map<string, string>();
  let at = 0;
  const next = (): string | undefined => text[at++];
  while (at < text.length && found.size < MAX_VARIABLES) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? undefined : end);
    const sign = line.indexOf('=');
    const name = line.slice(0, sign).trim();
    if (sign === -1 || /^\s*[#;]/.test(line)) {
      at += line.length + 1;
      continue;
    }
    at += sign + 1;
    const value = valueFrom(next);
    if (NAME.test(name)) found.set(name, value);
  }
  return Object.fromEntries(found);
}

/** Lines, from 1, of comments that end in a backslash before another line: systemd 252 takes that line into the comment, 257 does not. */
export function doubtfulLines(text: string): readonly number[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  return lines.flatMap((line, at) =>
    /^\s*[#;].*\\$/.test(line) && (lines[at + 1] ?? '').trim() !== '' ? [at + 1] : [],
  );
}

/**
 * The variables that the service sees, where the configuration lies in the folder of the installed one: this process's own go before. A file
 * that is there and cannot be read is told, and no variable of it is known.
 */
export async function withServiceEnvironment(
  configFile: string,
  environment: Environment,
  tell: (text: string) => void,
  folder = dirname(DEFAULT_CONFIG_FILE),
): Promise<Environment> {
  // Set of the service alone, which systemd has given the variables already.
  const isService = environment.STATE_DIRECTORY !== undefined;
  if (isService || dirname(resolve(configFile)) !== folder) return environment;
  try {
    const file = join(folder, ENVIRONMENT_NAME);
    const text = (await readUserFile(file, MAX_BYTES))?.toString('utf8');
    if (text === undefined) return environment;
    for (const line of doubtfulLines(text))
      tell(
        `${file}:${line}: a comment that ends in a backslash: some releases of systemd take the next line into it; write it without the backslash\n`,
      );
    return { ...environmentIn(text), ...environment };
  } catch (error) {
    // In a folder that this user may not enter there may be no such file; that the configuration cannot be read is told by who needs it.
    if (await isUserFileSeen(join(folder, ENVIRONMENT_NAME)))
      tell(`${messageOf(error)}; variables of the service are not known here: try sudo\n`);
    return environment;
  }
}

/** Takes one value and the end of its line. */
function valueFrom(next: () => string | undefined): string {
  let [value, kept, hasBegun] = ['', 0, false];
  for (let sign = next(); sign !== undefined && sign !== '\n'; sign = next()) {
    if (!hasBegun && (sign === "'" || sign === '"')) {
      value += quotedFrom(next, sign);
      kept = value.length;
    } else if (sign === '\\') {
      const protectedSign = next();
      value += protectedSign === '\n' ? '' : (protectedSign ?? '');
      [kept, hasBegun] = [value.length, true];
    } else if (hasBegun || !BLANK.test(sign)) {
      value += sign;
      hasBegun = true;
      if (!BLANK.test(sign)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

function quotedFrom(next: () => string | undefined, quote: string): string {
  let value = '';
  for (let sign = next(); sign !== undefined && sign !== quote; sign = next()) {
    const protectedSign = sign === '\\' && quote === '"' ? (next() ?? '') : undefined;
    if (protectedSign === undefined) value += sign;
    else if (protectedSign !== '\n') value += PROTECTED.test(protectedSign) ? protectedSign : `\\${protectedSign}`;
  }
  return value;
}
