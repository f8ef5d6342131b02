/**
 * A mark by which a later run knows what this program has made: a fingerprint of what was saved. Where a thing is no longer that, somebody has
 * changed it, and it is theirs.
 */
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';

const MARK = /Made by turnstone platform-setup \[([0-9a-f]{16})\]/;

/** A description for people, which holds the fingerprint of this content. */
export function markOf(content: JsonObject): string {
  return `Made by turnstone platform-setup [${fingerprintOf(content)}]`;
}

/** The same of a thing that has its name from a label, so that a later run knows the name for its own, too. */
export function namedMarkOf(content: JsonObject, name: string): string {
  return `${markOf(content)} as ${name}`;
}

/** True where the description says that this program gave it this name. */
export function isNamedByMark(name: string, description: unknown): boolean {
  return typeof description === 'string' && MARK.test(description) && description.endsWith(`] as ${name}`);
}

/** True while this content is what the description was written for. */
export function isUntouched(content: JsonObject, description: unknown): boolean {
  return MARK.exec(String(description))?.[1] === fingerprintOf(content);
}

export function isSame(one: JsonObject, another: JsonObject): boolean {
  return fingerprintOf(one) === fingerprintOf(another);
}

/** The same for the same content, in whatever order a server writes its members. */
function fingerprintOf(value: JsonObject): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}

function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
