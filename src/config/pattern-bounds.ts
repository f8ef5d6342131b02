/** Regular expressions of a file: how many there may be, as each costs time to compile, and whether each is one that runs in linear time. */

import { loadLinearPatterns, patternProblem } from '../host/linear-pattern.ts';
import type { PathFault } from './fields/config-fault.ts';
import { configSchema } from './schema/agent-config.ts';
import { visitFields } from './schema/schema-walk.ts';

/** Sum over all distinct patterns; less than a second of work. A thousand sensors that write their values alike have one between them. */
const MAX_CHARACTERS = 32_000;

/** Asked before any of them is made. */
export function tooManyPatterns(tree: unknown): PathFault | undefined {
  const seen = new Set<string>();
  let characters = 0;
  let fault: PathFault | undefined;
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.format !== 'regex' || typeof value !== 'string' || seen.has(value)) return;
    seen.add(value);
    characters += value.length;
    if (characters > MAX_CHARACTERS)
      fault ??= { path, problem: 'too many regular expressions in one file:', expected: `at most ${MAX_CHARACTERS} characters of them` };
  });
  return fault;
}

/** Returns the faults of all patterns; the engine is loaded only where there is one to check. */
export async function patternFaults(tree: unknown): Promise<readonly PathFault[]> {
  const patterns: { readonly path: PathFault['path']; readonly source: string }[] = [];
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.format === 'regex' && typeof value === 'string' && value !== '') patterns.push({ path, source: value });
  });
  if (patterns.length === 0) return [];
  const compile = await loadLinearPatterns();
  const problems = new Map(patterns.map(({ source }) => [source, undefined as string | undefined]));
  for (const source of problems.keys()) problems.set(source, patternProblem(compile, source));
  return patterns.flatMap(({ path, source }) => {
    const expected = problems.get(source);
    return expected === undefined ? [] : [{ path, expected }];
  });
}
