/** What a change from afar can never widen. This one refuses every change. */

/** A configuration as plain values: templates expanded, the environment not substituted. */
export type Tree = Readonly<Record<string, unknown>>;

/** A change that may not come from afar. */
export interface LockedChange {
  readonly path: string;
  readonly words: string;
}

/** Parts of a configuration that its file in place opens to changes from afar. */
export type Allowance = 'platform' | 'programs' | 'outputs';

export function lockedChanges(before: Tree, after: Tree, _allow: readonly Allowance[]): readonly LockedChange[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys]
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map((path) => ({ path, words: `${path} is not changed from afar` }));
}
