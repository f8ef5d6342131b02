/** Code with which a command was refused, without the room's name; undefined when it was not refused. */
import type { Command } from '../people.ts';

export function refusalOf({ answer }: Command): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return undefined;
  const { error } = answer as { readonly error: unknown };
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined;
}
