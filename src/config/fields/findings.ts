/** What a check finds in a configuration, and what stands in it twice. */
import type { ConfigPath, PathFault } from '../config-fault.ts';

/** Warnings do not stop the agent. */
export interface Finding extends PathFault {
  readonly warning?: boolean;
}

export interface Placed<T> {
  readonly config: T;
  readonly path: ConfigPath;
}

/** One finding for every item whose identity another one had before. */
export function repeated<T>(
  items: readonly { readonly identity: string; readonly item: T; readonly path: ConfigPath }[],
  describe: (
    again: { readonly item: T; readonly path: ConfigPath },
    first: { readonly item: T; readonly path: ConfigPath },
  ) => Omit<Finding, 'path'>,
): Finding[] {
  const seen = new Map<string, { readonly item: T; readonly path: ConfigPath }>();
  return items.flatMap((one) => {
    const first = seen.get(one.identity);
    if (first !== undefined) return [{ path: one.path, ...describe(one, first) }];
    seen.set(one.identity, one);
    return [];
  });
}

/** Names of a list in which each stands once. */
export function doubled(names: readonly string[], path: ConfigPath): Finding[] {
  const items = names.map((name, index) => ({ identity: name, item: name, path: [...path, index] }));
  return repeated(
    items.filter(({ identity }) => identity !== ''),
    () => ({ problem: 'named twice:', expected: 'each once' }),
  );
}
