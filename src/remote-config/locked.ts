/** Changes that may not come from afar. This one refuses every change. */
import type { Tree } from './tree-differences.ts';

/** A change that may not come from afar. */
export interface LockedChange {
  readonly path: string;
  readonly words: string;
}

/** Returns all changes; what the file in place allows stands in `before`. */
export function lockedChanges(before: Tree, after: Tree): readonly LockedChange[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys]
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map((path) => ({ path, words: `${path} is not changed from afar` }));
}
