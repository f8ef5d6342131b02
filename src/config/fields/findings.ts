/** Findings of a check in a configuration, and names that stand in it twice. */
import type { ConfigPath, PathFault } from './config-fault.ts';

/** Warnings do not stop the agent. */
export interface Finding extends PathFault {
  readonly warning?: boolean;
}

export interface Placed<T> {
  readonly config: T;
  readonly path: ConfigPath;
}

/** At a value: what is wrong with it, and what belongs there. */
export function finding(path: ConfigPath, problem: string, expected: string, more: Partial<Finding> = {}): Finding {
  return { path, problem, expected, ...more };
}

/** At a key, whatever its value. */
export function findingAtKey(
  path: ConfigPath,
  problem: string,
  expected: string,
  more: Partial<Finding> = {},
): Finding {
  return { path, atKey: true, problem, value: '', expected, ...more };
}

/** An option that does nothing where it stands. */
export function noEffect(path: ConfigPath, option: string, expected: string): Finding {
  return findingAtKey([...path, option], `${option} has no effect`, expected);
}

/** One finding for every item whose identity another one had before. */
export function repeated<T>(
  items: readonly T[],
  identityOf: (item: T) => string,
  describe: (again: T, first: T) => Finding,
): Finding[] {
  const seen = new Map<string, T>();
  return items.flatMap((item) => {
    const identity = identityOf(item);
    const first = seen.get(identity);
    if (first !== undefined) return [describe(item, first)];
    seen.set(identity, item);
    return [];
  });
}

/** Names of a list in which each stands once. */
export function doubled(names: readonly string[], path: ConfigPath): Finding[] {
  const items = names.map((name, index) => ({ name, at: [...path, index] })).filter(({ name }) => name !== '');
  return repeated(
    items,
    ({ name }) => name,
    ({ at }) => finding(at, 'named twice:', 'each once'),
  );
}
