/** Differences between two configurations, so that a reload changes only those; and a hash that tells whether two gateways have the same. */
import { createHash } from 'node:crypto';
import { Secret } from '../fields/secret.ts';
import type { AgentConfig } from '../schema/agent-config.ts';

/** Hex digits of the hash that are shown: enough to tell configurations apart, short enough to read out. */
const HASH_DIGITS = 16;

/** Stable over the order of keys and over comments; secrets do not count, so that nothing can be guessed from it. */
export function configHash(config: AgentConfig): string {
  return createHash('sha256').update(canonical(config)).digest('hex').slice(0, HASH_DIGITS);
}

/** SHA-256 of a file's bytes in hex, 64 digits: comments, blanks and secrets count. */
export function configFileHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The sections whose values differ, secrets included. */
export function changedSections(before: AgentConfig, after: AgentConfig): readonly (keyof AgentConfig)[] {
  const sections = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof AgentConfig>;
  return [...sections].filter((section) => !sameValue(before[section], after[section]));
}

export interface ChangedItems<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
  /** As they are after the change. */
  readonly changed: readonly T[];
}

/** Sensors, actuators or rules that came, went or changed; one whose name changed went and came. */
export function changedItems<T extends { readonly name: string }>(
  before: readonly T[],
  after: readonly T[],
): ChangedItems<T> {
  const earlier = new Map(before.map((item) => [item.name, item]));
  const names = new Set(after.map(({ name }) => name));
  return {
    added: after.filter(({ name }) => !earlier.has(name)),
    removed: before.filter(({ name }) => !names.has(name)),
    changed: after.filter((item) => earlier.has(item.name) && !sameValue(earlier.get(item.name), item)),
  };
}

/** Every secret in a configuration, for the log to hide. */
export function secretsOf(value: unknown): readonly Secret[] {
  if (value instanceof Secret) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsOf) : [];
}

/** True when two parsed values are the same, secrets included. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a instanceof Secret || b instanceof Secret) return a instanceof Secret && b instanceof Secret && a.equals(b);
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    Array.isArray(a) !== Array.isArray(b)
  )
    return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && sameValue(left[key], right[key]))
  );
}

function canonical(value: unknown): string {
  if (value instanceof Secret) return '"[secret]"';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
