/** Values put into fixed texts and argument lists: as plain words, each within its own argument, never through a shell. */
import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject } from './json.ts';

export const PLACEHOLDER = /\{(\w+)\}/g;

/** A value as a word: `true` and `false` as 1 and 0, because that is what devices speak. */
export function wordOf(value: boolean | number | bigint | string): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return String(value);
}

/**
 * The argument list with `{name}` replaced by the value of that name.
 * @throws AgentError `host/bad-argument` (drop) for a value that is missing, no plain word, or would be taken for an option.
 */
export function fillArguments(templates: readonly string[], values: JsonObject): readonly string[] {
  return templates.map((template) => {
    const filled = template.replace(PLACEHOLDER, (_all, name: string) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined || value === null || typeof value === 'object')
        throw badArgument(`${name} is missing or no plain value`);
      return wordOf(value);
    });
    if (filled.includes('\0')) throw badArgument('a value holds a NUL character');
    // "-5" is a number that somebody may want to pass; "--output=/etc/passwd" is not.
    if (filled.startsWith('-') && !template.startsWith('-') && !/^-\d+(\.\d+)?$/.test(filled))
      throw badArgument('a value would be taken for an option');
    return filled;
  });
}

function badArgument(why: string): AgentError {
  return new AgentError('host/bad-argument', why, { recovery: 'drop' });
}
