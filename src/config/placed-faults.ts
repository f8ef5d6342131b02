/** Faults told where they stand in the file, without its secrets. */
import type { z } from 'zod';
import { type ConfigFault, type PathFault, pathText } from './fields/config-fault.ts';
import { isHarmless } from './fields/shown-value.ts';
import { fieldAt } from './schema/schema-walk.ts';
import type { ResolvedSecrets } from './secret-sources.ts';
import { MAX_FAULTS } from './yaml/yaml-bounds.ts';
import type { Place, YamlSource } from './yaml/yaml-source.ts';

export interface FaultySource extends Pick<ResolvedSecrets, 'tree' | 'hidden'> {
  readonly schema: z.core.$ZodType;
  readonly source: YamlSource;
}

/** In their order in the file, and no more than anybody mends at once. */
export function inPlace(
  faults: readonly PathFault[],
  { schema, source, tree, hidden }: FaultySource,
): readonly ConfigFault[] {
  // A fault in a file's content stands where the file is named.
  const standing = faults.map((fault) => ({ fault, path: hidden.get(pathText(fault.path)) ?? fault.path }));
  // A fault of a template is one of each item that it makes, and told once.
  const once = new Map(standing.map((one) => [identityOf(one.fault, source), one] as const).toReversed());
  const sorted = [...once.values()]
    .toReversed()
    .map((one) => ({ ...one, at: source.place({ ...one.fault, path: one.path }) }))
    .toSorted((one, other) => byPlace(one.at, other.at));
  // One more tells that there is more.
  const located = sorted.slice(0, MAX_FAULTS + 1).map(({ fault, path }): ConfigFault => {
    const field = fieldAt(schema, tree, fault.path);
    const isSecret = field !== undefined && !isHarmless(field.value, field);
    const { path: shown, of } = source.origin(fault.hidesKey === true ? fault.path.slice(0, -1) : fault.path);
    const named = of === undefined ? pathText(shown) : `${pathText(shown)} (${of})`;
    return { ...source.locate({ ...fault, path }, isSecret), path: named };
  });
  return inOrder(located);
}

/** The same of faults that have their places. */
export function inOrder(faults: readonly ConfigFault[]): readonly ConfigFault[] {
  const sorted = faults.toSorted(byPlace);
  const next = sorted[MAX_FAULTS];
  if (next === undefined) return sorted;
  const { line, column } = next;
  return [
    ...sorted.slice(0, MAX_FAULTS),
    { line, column, path: '', problem: 'there is more', expected: 'what is above, first' },
  ];
}

function byPlace(one: Place, other: Place): number {
  return one.line - other.line || one.column - other.column;
}

function identityOf({ path, problem, value, expected }: PathFault, source: YamlSource): string {
  return JSON.stringify([source.origin(path).path, problem, value, expected]);
}
