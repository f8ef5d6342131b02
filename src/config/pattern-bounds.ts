/** What regular expressions may cost before they are believed: making one of a thousand characters can take 20 ms, and a file has room for many. */
import { configSchema } from './agent-config.ts';
import type { PathFault } from './config-fault.ts';
import { visitFields } from './schema-walk.ts';

/** Of all that differ; less than a second of work. A thousand sensors that write their values alike have one between them. */
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
