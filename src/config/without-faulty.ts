/** A section or item without the members that are at fault, so that it can be looked at for other faults. */
import type { z } from 'zod';
import { isMapping } from './template-words.ts';

/** Undefined where a member at fault decides how all others are read, or cannot be taken out. */
export function withoutFaulty(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const left: unknown = structuredClone(value);
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) if (!removeAt(left, [...issue.path, key])) return undefined;
    } else if (issue.path.length === 0 || issue.path[0] === 'kind' || !removeAt(left, issue.path)) return undefined;
  }
  return left;
}

/** Removes a member; a list is removed as a whole, as its other members would have other places. */
function removeAt(root: unknown, path: readonly PropertyKey[]): boolean {
  const firstIndex = path.findIndex((part) => typeof part === 'number');
  const within = firstIndex === -1 ? path : path.slice(0, firstIndex);
  const last = within.at(-1);
  if (typeof last !== 'string') return false;
  let parent: unknown = root;
  for (const part of within.slice(0, -1)) {
    if (!isMapping(parent) || typeof part !== 'string') return false;
    parent = parent[part];
  }
  // A member that is missing was never there, or is gone with the one around it.
  if (!isMapping(parent)) return parent === undefined;
  delete (parent as Record<string, unknown>)[last];
  return true;
}
