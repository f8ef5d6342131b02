/**
 * Differences of two configurations before secrets are put in, member by member; items of lists go by their name, so that a sensor in between moves
 * no other. What the schema understands alike is alike: `10s` and `10000ms`, `on` and `true`, a default that is written and one that is not.
 */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { sameValue } from '../config/changes/config-diff.ts';
import { expandTemplates } from '../config/expand-templates.ts';
import type { ConfigFault, ConfigPath } from '../config/fields/config-fault.ts';
import { isLikeKey } from '../config/fields/shown-value.ts';
import { configSchema } from '../config/schema/agent-config.ts';
import { memberSchema } from '../config/schema/schema-walk.ts';
import { isMapping } from '../config/template-words.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { type MemberPath, memberPathText } from './member-path.ts';

export const MASK = '[secret]';

/** A configuration as plain values: anchors, merge keys and templates expanded, the environment not put in. */
export type Tree = Readonly<Record<string, unknown>>;

export type Schema = z.core.$ZodType | undefined;

export interface Difference {
  readonly path: MemberPath;
  /** Undefined for what came. */
  readonly before: unknown;
  /** Undefined for what is gone. */
  readonly after: unknown;
  readonly schemaBefore: Schema;
  readonly schemaAfter: Schema;
  /** The items of a list are there in another order. */
  readonly isOrder?: boolean;
}

type ReadTree =
  | { readonly tree: Tree; readonly faults?: never }
  | { readonly tree?: never; readonly faults: readonly ConfigFault[] };

/** The tree of a file within the reader's bounds (yaml-bounds.ts, yaml-tree.ts, expand-templates.ts), or its faults. */
export function configurationTree(source: string | Uint8Array): ReadTree {
  const { tree, faults, locate } = expandTemplates(readYaml(source));
  if (faults.length > 0) return { faults };
  const odd = oddPath(tree, []);
  if (odd !== undefined)
    return { faults: [locate({ path: odd, problem: 'a value of a tag', value: '', expected: 'no tag' })] };
  if (isMapping(tree)) return { tree };
  return { faults: [locate({ path: [], value: '', expected: 'keys and values, beginning with "version: 1"' })] };
}

/** Where a tag such as `!!timestamp` made something else than text, number, list and mapping. */
function oddPath(value: unknown, path: ConfigPath): ConfigPath | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value) && !isPlain(value)) return path;
  for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const found = oddPath(member, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPlain(value: object): value is Tree {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function treeDifferences(before: Tree, after: Tree): readonly Difference[] {
  return [...walk({ path: [], before, after, schemaBefore: configSchema, schemaAfter: configSchema })];
}

function* walk(pair: Difference): Generator<Difference> {
  const { before, after, schemaBefore, schemaAfter } = pair;
  if (canOpen(before) && canOpen(after) && (isMapping(before) || isMapping(after))) {
    let isTold = false;
    for (const one of members(pair)) {
      isTold = true;
      yield one;
    }
    // A section that came or went may do something by being there.
    if (isTold || (before !== undefined && after !== undefined)) return;
  }
  const [earlier, later] = [itemsByName(before), itemsByName(after)];
  if (earlier !== undefined && later !== undefined && earlier.size + later.size > 0)
    return yield* items(pair, earlier, later);
  if (!isSame({ before, after, schemaBefore, schemaAfter })) yield pair;
}

function* members({ path, before = {}, after = {}, schemaBefore, schemaAfter }: Difference): Generator<Difference> {
  const [left, right] = [before, after] as [Tree, Tree];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
    yield* walk({
      path: [...path, key],
      before: ownMember(left, key),
      after: ownMember(right, key),
      // An absent member has the schema of the other side: a default is no difference.
      schemaBefore: memberOf(schemaBefore, left, key) ?? memberOf(schemaAfter, right, key),
      schemaAfter: memberOf(schemaAfter, right, key) ?? memberOf(schemaBefore, left, key),
    });
}

function* items(
  { path, before, after, schemaBefore, schemaAfter }: Difference,
  earlier: Items,
  later: Items,
): Generator<Difference> {
  const of = (schema: Schema, list: unknown): Schema => memberOf(schema, Array.isArray(list) ? list : [], 0);
  const schemas = { schemaBefore: of(schemaBefore, before), schemaAfter: of(schemaAfter, after) };
  for (const name of new Set([...earlier.keys(), ...later.keys()])) {
    const [was, is] = [earlier.get(name), later.get(name)];
    const pair = { path: [...path, name], before: was, after: is, ...schemas };
    if (was === undefined || is === undefined) yield pair;
    else yield* walk(pair);
  }
  const common = (these: Items, others: Items): string[] => [...these.keys()].filter((name) => others.has(name));
  if (!isDeepStrictEqual(common(earlier, later), common(later, earlier)))
    yield { path, before, after, schemaBefore, schemaAfter, isOrder: true };
}

export type Items = ReadonlyMap<string, Tree>;

/** Items by their name, or title; undefined where one has none or two share it. No list has no items. */
export function itemsByName(list: unknown): Items | undefined {
  if (list === undefined) return new Map();
  if (!Array.isArray(list)) return undefined;
  const found = new Map<string, Tree>();
  for (const item of list) {
    const name = nameOf(item);
    if (name === undefined || found.has(name)) return undefined;
    found.set(name, item as Tree);
  }
  return found;
}

export function nameOf(item: unknown): string | undefined {
  if (!isMapping(item)) return undefined;
  const name = ownMember(item, 'name') ?? ownMember(item, 'title');
  return typeof name === 'string' ? name : undefined;
}

export function ownMember(mapping: Tree, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

/** A path as it may be told: what may be a secret that slipped into it is masked. */
export function toldPath(path: MemberPath, inPlace: Tree, shape: Tree = inPlace): string {
  return unknownParts(path, inPlace, shape).reduce((text, part) => text.replaceAll(part, MASK), memberPathText(path));
}

/**
 * Parts of a path that neither the file in place nor the schema knows, and that may be a secret. `shape` is the tree by whose kinds the schema is
 * followed.
 */
export function unknownParts(path: MemberPath, inPlace: Tree, shape: Tree = inPlace): readonly string[] {
  let [known, here, schema]: [unknown, unknown, Schema] = [inPlace, shape, configSchema];
  return path.flatMap((part) => {
    const next: Schema = schema === undefined ? undefined : memberSchema(schema, here ?? known ?? {}, part);
    [known, here, schema] = [memberIn(known, part), memberIn(here, part), next];
    const isTold = typeof part === 'number' || next !== undefined || known !== undefined || isLikeKey(part);
    return isTold ? [] : [part];
  });
}

/** Returns a member by its key, or by its name or place in a list. */
export function memberIn(value: unknown, part: string | number): unknown {
  if (Array.isArray(value)) return typeof part === 'number' ? value[part] : value.find((item) => nameOf(item) === part);
  return isMapping(value) ? ownMember(value, String(part)) : undefined;
}

/** True where both mean the same to the schema; what it cannot read is the same only as it is written. */
function isSame({ before, after, schemaBefore, schemaAfter }: Omit<Difference, 'path'>): boolean {
  if (isDeepStrictEqual(before, after)) return true;
  if (schemaBefore === undefined || schemaBefore !== schemaAfter) return false;
  const [left, right] = [before, after].map((value) => parsed(schemaAfter, value));
  return left !== undefined && right !== undefined && sameValue(left.value, right.value);
}

/** A value as the schema reads it; undefined for one that it refuses. */
export function parsed(schema: Schema, value: unknown): { readonly value: unknown } | undefined {
  if (schema === undefined) return undefined;
  const result = (schema as z.ZodType).safeParse(value);
  return result.success ? { value: result.data } : undefined;
}

function memberOf(schema: Schema, value: object, key: string | number): Schema {
  return schema === undefined ? undefined : memberSchema(schema, value, key);
}

function canOpen(value: unknown): boolean {
  return value === undefined || (isMapping(value) && isPlain(value));
}
