/** Parts shared by sensors that give text, a line from a port or the output of a program: how it becomes keys and values. */
import { z } from 'zod';
import type { ConfigPath } from '../../../config/fields/config-fault.ts';
import { list, pattern, platformKey, table, text } from '../../../config/fields/fields.ts';
import { doubled, type Finding, finding, noEffect } from '../../../config/fields/findings.ts';
import { parseJsonPath } from '../../../config/fields/json-path.ts';
import type { ValueType } from '../../kind/definition.ts';

export const lineFormatFields = {
  format: z.enum(['json', 'csv', 'regex', 'number']).default('json'),
  /** For `csv`: the key of each column, in order; an empty name skips one. */
  columns: list(z.string().max(255)).optional(),
  separator: z.string().length(1).default(','),
  /** For `regex`: named groups are keys. */
  pattern: pattern().optional(),
  /** For `number`: the key. */
  key: platformKey().default('value'),
};

/** Keys, and where each is in the JSON. */
export const jsonPaths = () => table(platformKey(), text(/^.{0,255}$/, 'a path'));

/** Bytes of the letters. */
export const textEncoding = () => z.enum(['utf8', 'latin1']).default('utf8');

export type LineFormat = z.infer<z.ZodObject<typeof lineFormatFields>>;

/** Beginning of a named group for JavaScript, whatever the letters; an escaped character begins none. */
const NAMED_GROUP = /\\.|\(\?<([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)>/gu;

/** Keys, types, text and faults for a kind with these fields. */
export const LINE_KEYS = { keys: lineKeys, valueType: lineType, givesText: true, faults: lineFormatFaults } as const;

function lineKeys({ format, key, columns, pattern: expression }: LineFormat): readonly string[] | undefined {
  if (format === 'number') return [key];
  if (format === 'csv') return columns && [...new Set(columns.filter((column) => column !== ''))];
  return format === 'regex' && expression !== undefined ? namedGroups(expression) : undefined;
}

function lineType({ format }: LineFormat): ValueType | undefined {
  return format === 'number' ? 'number' : undefined;
}

function lineFormatFaults({ format, columns, pattern: expression }: LineFormat, path: ConfigPath): Finding[] {
  if (format === 'csv')
    return columns === undefined
      ? [{ path: [...path, 'format'], problem: 'no columns for', expected: 'columns: with the key of each column' }]
      : columns.every((column) => column === '')
        ? [finding([...path, 'columns'], 'no column has a key:', 'a key for each column that is to be read')]
        : doubled(columns, [...path, 'columns']);
  if (format !== 'regex') return [];
  if (expression === undefined)
    return [{ path: [...path, 'format'], problem: 'no pattern for', expected: 'pattern: with named groups' }];
  if (namedGroups(expression).length > 0) return [];
  return [
    {
      path: [...path, 'pattern'],
      problem: 'no named group in',
      expected: 'named groups such as (?<temperature>[-0-9.]+)',
    },
  ];
}

/** The names of a pattern's named groups. */
function namedGroups(expression: string): readonly string[] {
  return [...expression.matchAll(NAMED_GROUP)].flatMap(([, name]) => name ?? []);
}

/** Finds paths that are none, and those of a format that has none. */
export function jsonPathFaults(
  {
    paths = {},
    format,
  }: Pick<LineFormat, 'format'> & { readonly paths?: Readonly<Record<string, string>> | undefined },
  path: ConfigPath,
): Finding[] {
  if (format !== 'json' && Object.keys(paths).length > 0) return [noEffect(path, 'paths', 'format: json')];
  return Object.entries(paths).flatMap(([key, place]) =>
    parseJsonPath(place) === undefined
      ? [finding([...path, 'paths', key], 'no path:', 'names and places such as emeters[0].power or ["a.b"].c')]
      : [],
  );
}
