/**
 * A patch of a configuration's text: all of it or nothing. Members are set, removed and added by their path (member-path.ts), and everything else
 * stays as it is written. The result is read again and compared with what was meant: a change that would reach others, through an anchor or a
 * template, is refused (PATCH.md).
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { pathText } from '../config/fields/config-fault.ts';
import { didYouMean, oneOf } from '../config/fields/did-you-mean.ts';
import { isLikeKey } from '../config/fields/shown-value.ts';
import { configSchema } from '../config/schema/agent-config.ts';
import { knownKeys, memberSchema } from '../config/schema/schema-walk.ts';
import { isMapping } from '../config/template-words.ts';
import { decodeText, YamlLimit } from '../config/yaml/yaml-bounds.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { fileHash } from './file-hash.ts';
import { type MemberPath, memberPathText, parseMemberPath } from './member-path.ts';
import {
  configurationTree,
  MASK,
  memberIn,
  nameOf,
  ownMember,
  type Schema,
  type Tree,
  treeDifferences,
  unknownParts,
} from './tree-differences.ts';
import { NoPlace, YamlText } from './yaml-text.ts';

export interface PatchFault {
  /** Path as the patch writes it; `base` for the whole file. */
  readonly path: string;
  readonly problem: string;
  readonly expected: string;
}

export type Patched =
  | { readonly bytes: Uint8Array; readonly faults?: never }
  | { readonly faults: readonly PatchFault[] };

/** Changes of a patch: a board with one core may have to parse the file after each. */
const MAX_CHANGES = 50;
/** Levels of a patch, as many as a configuration has. */
const MAX_DEPTH = 16;
const MAX_FAULTS = 10;
/** Lists whose items go by their name. */
const NAMED_LISTS: ReadonlySet<string> = new Set(['devices', 'sensors', 'actuators', 'rules']);

/** Separators that split even a wrong path into words. */
const NO_WORD = /[\s.[\]"]+/;
const PATHS = 'paths such as sensors.roof.period';
const patchSchema = z.strictObject({
  /** SHA-256 of the file that the patch is made for. */
  base: z.string().regex(/^[0-9a-f]{64}$/),
  set: z.record(z.string(), z.unknown()).optional(),
  remove: z.array(z.string()).optional(),
  /** By the path of a list: items for its end. */
  add: z.record(z.string(), z.array(z.unknown())).optional(),
});

/** A change, with its path as it was written. */
interface Change {
  readonly how: 'set' | 'remove' | 'add';
  readonly text: string;
  readonly path: MemberPath;
  readonly value?: unknown;
}

/** Applies a patch whole, or returns its faults. Never throws, whatever the patch holds. */
export function applyPatch(source: Uint8Array, patch: unknown): Patched {
  const made = patched(source, patch);
  if (made.faults === undefined) return made;
  const unknown = unknownWords(source, patch);
  const told = (text: string): string => unknown.reduce((so, word) => so.replaceAll(word, MASK), text);
  return {
    faults: made.faults.map(({ path, problem, expected }) => fault(told(path), told(problem), told(expected))),
  };
}

/** Returns words of a patch's paths that are no known keys or names: each may be a secret, and is masked in the faults. */
function unknownWords(source: Uint8Array, patch: unknown): readonly string[] {
  if (!isMapping(patch)) return [];
  const { tree = {} } = configurationTree(source);
  const lists = [patch.set, patch.add].flatMap((one) => (isMapping(one) ? Object.keys(one) : []));
  const removed = Array.isArray(patch.remove) ? patch.remove.filter((one) => typeof one === 'string') : [];
  return [...Object.keys(patch), ...lists, ...removed].flatMap((text) => {
    const path = parseMemberPath(text);
    return path === undefined ? text.split(NO_WORD).filter((word) => !isLikeKey(word)) : unknownParts(path, tree);
  });
}

function patched(source: Uint8Array, patch: unknown): Patched {
  const read = changesOf(patch);
  if ('faults' in read) return read;
  if (read.base !== fileHash(source))
    return {
      faults: [fault('base', 'is the hash of another file', 'a patch for the file as it is now: ask for its hash')],
    };
  const faultsBefore = configurationFaults(source);
  if (faultsBefore !== undefined) return { faults: faultsBefore };
  try {
    return changedText(source, read.changes);
  } catch (error) {
    // Too much, or too deep, for the reader; what else is thrown is a fault of the program.
    if (error instanceof YamlLimit || error instanceof RangeError)
      return { faults: [fault('base', 'would be too much for one file', 'a smaller change')] };
    throw error;
  }
}

function fault(path: string, problem: string, expected: string): PatchFault {
  return { path, problem, expected };
}

function changesOf(
  patch: unknown,
): { readonly base: string; readonly changes: readonly Change[] } | { readonly faults: readonly PatchFault[] } {
  if (isTooDeep(patch, MAX_DEPTH)) return { faults: [fault('', 'nested too deeply', `at most ${MAX_DEPTH} levels`)] };
  const { success, data, error } = patchSchema.safeParse(patch);
  if (!success) {
    const expected = 'base (64 hex digits), set (values by path), remove (paths) and add (lists of items by path)';
    return {
      faults: error.issues
        .slice(0, MAX_FAULTS)
        .map(({ path }) => fault(pathText(path as string[]), 'is no part of a patch', expected)),
    };
  }
  const { base, set = {}, remove = [], add = {} } = data;
  // Counted before any is read, as each is compared with all others.
  const count = Object.values(add).reduce((sum, { length }) => sum + length, Object.keys(set).length + remove.length);
  if (count > MAX_CHANGES)
    return { faults: [fault('', `${count} changes`, `at most ${MAX_CHANGES}, or the whole file`)] };
  const faults: PatchFault[] = [];
  const changes: Change[] = [];
  const note = (how: Change['how'], text: string, value?: unknown): void => {
    const path = parseMemberPath(text);
    if (path === undefined) faults.push(fault(text, 'is no path', PATHS));
    else changes.push({ how, text, path, value });
  };
  for (const [text, value] of Object.entries(set))
    if (value === null || value === undefined)
      faults.push(fault(text, 'has no value', 'a value; remove takes a member out'));
    else note('set', text, value);
  const sets = changes.length;
  for (const text of remove) note('remove', text);
  changes.push(...changes.splice(sets).toSorted(byPlace));
  for (const [text, items] of Object.entries(add)) for (const item of items) note('add', text, item);
  const twice = changes.find((change, at) => changes.slice(0, at).some((other) => areOne(change, other)));
  if (twice !== undefined) faults.push(fault(twice.text, 'is changed twice in one patch', 'each place once'));
  if (changes.length === 0 && faults.length === 0) faults.push(fault('', 'changes nothing', 'set, remove or add'));
  return faults.length > 0 ? { faults: faults.slice(0, MAX_FAULTS) } : { base, changes };
}

/** True where one of two places holds the other; items that are added to a list touch none that is there. */
function areOne(one: Change, other: Change): boolean {
  const length = Math.min(one.path.length, other.path.length);
  if (!isDeepStrictEqual(one.path.slice(0, length), other.path.slice(0, length))) return false;
  const isBeside = (adding: Change, changing: Change): boolean =>
    adding.how === 'add' && (changing.how === 'add' || changing.path.length > length);
  return !isBeside(one, other) && !isBeside(other, one);
}

/** The later place in a list goes first, so that each number is that of the file as it was. */
function byPlace({ path: one }: Change, { path: other }: Change): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  const [a, b] = [one[at], other[at]];
  return typeof a === 'number' && typeof b === 'number' ? b - a : 0;
}

function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

function configurationFaults(source: string | Uint8Array): readonly PatchFault[] | undefined {
  const { faults } = configurationTree(source);
  return faults
    ?.slice(0, MAX_FAULTS)
    .map(({ path, problem, expected, line }) => fault(path || 'base', `${problem} in line ${line}`, expected));
}

function changedText(source: Uint8Array, changes: readonly Change[]): Patched {
  const decoded = decodeText(source);
  const { tree } = readYaml(source);
  if (typeof decoded !== 'string' || !isMapping(tree))
    return { faults: [fault('base', 'is no configuration', 'a YAML file')] };
  const made = madeNames(source);
  const atOnce = written({ decoded, tree, made, changes, isEachRead: false });
  // Reading the text after each change tells which one has reached others.
  const { text, faults } = atOnce.isAsMeant ? atOnce : written({ decoded, tree, made, changes, isEachRead: true });
  if (faults.length > 0) return { faults };
  const faultsAfter = configurationFaults(text);
  if (faultsAfter !== undefined) return { faults: faultsAfter };
  const mark = source[0] === 0xef ? '\ufeff' : '';
  return { bytes: Buffer.from(mark + text) };
}

interface Writing {
  readonly decoded: string;
  readonly tree: Tree;
  readonly made: ReadonlyMap<string, string>;
  readonly changes: readonly Change[];
  readonly isEachRead: boolean;
}

interface Written {
  readonly text: string;
  readonly faults: readonly PatchFault[];
  /** True where the text says what the changes mean. */
  readonly isAsMeant: boolean;
}

function written({ decoded, tree, made, changes, isEachRead }: Writing): Written {
  const text = new YamlText(decoded);
  let wanted: Tree = unshared(tree) as Tree;
  const faults: PatchFault[] = [];
  for (const change of changes) {
    try {
      const meant = changedTree(wanted, change, made);
      if (typeof meant === 'string') {
        faults.push(fault(change.text, meant, expectedOf(change, wanted)));
        continue;
      }
      const order = (path: MemberPath): readonly string[] => keysAt(wanted, path);
      if (change.how === 'set') text.set(change.path, change.value, order);
      else if (change.how === 'remove') text.remove(change.path);
      else text.add(change.path, change.value, order);
      const reached = isEachRead ? othersReached(text.text, meant) : undefined;
      if (reached !== undefined) {
        faults.push(fault(change.text, reached, 'a value that stands in the file by itself'));
        // The changes that follow cannot be applied to this text.
        break;
      }
      wanted = meant;
    } catch (error) {
      if (!(error instanceof NoPlace)) throw error;
      const at = memberPathText(change.path.slice(0, error.depth || change.path.length));
      faults.push(fault(change.text, `${at} ${error.message}`, expectedOf(change, wanted)));
    }
    if (faults.length >= MAX_FAULTS) break;
  }
  const isAsMeant = isEachRead || (faults.length === 0 && othersReached(text.text, wanted) === undefined);
  return { text: text.text, faults, isAsMeant };
}

/** Describes changes of the text that the patch does not ask for; undefined where there are none. */
function othersReached(text: string, meant: Tree): string | undefined {
  const { tree, faults } = readYaml(text);
  if (isDeepStrictEqual(tree, meant)) return undefined;
  if (!isMapping(tree))
    return `cannot be written there: the file would have a fault, ${faults[0]?.problem ?? 'no YAML'}`;
  const others = treeDifferences(meant, tree)
    .slice(0, 3)
    .map(({ path }) => memberPathText(path));
  return others.length === 0
    ? 'cannot be written there as it is meant'
    : `would change others, which come from the same anchor: ${others.join(', ')}`;
}

/** The tree after a change, or why there is none. */
function changedTree(tree: Tree, { how, path, value }: Change, made: ReadonlyMap<string, string>): Tree | string {
  const copy = structuredClone(tree) as Record<string, unknown>;
  let here: unknown = copy;
  for (const [depth, part] of path.slice(0, how === 'add' ? path.length : -1).entries()) {
    const found = memberIn(here, part);
    if (found === undefined && Array.isArray(here)) return missingWords(path.slice(0, depth + 1), made);
    if (found === undefined && how === 'remove') return `${memberPathText(path.slice(0, depth + 1))} is not there`;
    if (isMapping(here) && typeof part === 'string' && (found === undefined || found === null))
      (here as Record<string, unknown>)[part] = how === 'add' && depth === path.length - 1 ? [] : {};
    here = memberIn(here, part);
    if (typeof here !== 'object' || here === null) return `${memberPathText(path.slice(0, depth + 1))} has no members`;
  }
  if (how === 'add') return added(copy, here, { path, value, made });
  const last = path.at(-1) as string | number;
  if (Array.isArray(here)) {
    const at = typeof last === 'number' ? last : here.findIndex((item) => nameOf(item) === last);
    if (!(at in here)) return missingWords(path, made);
    if (how === 'remove') here.splice(at, 1);
    else here[at] = value;
    return copy;
  }
  const mapping = here as Record<string, unknown>;
  if (how === 'set') mapping[last] = value;
  else if (Object.hasOwn(mapping, last)) delete mapping[last];
  else return `${memberPathText(path)} is not there`;
  return copy;
}

function added(
  copy: Tree,
  list: unknown,
  {
    path,
    value,
    made,
  }: { readonly path: MemberPath; readonly value: unknown; readonly made: ReadonlyMap<string, string> },
): Tree | string {
  const words = memberPathText(path);
  if (!Array.isArray(list)) return `${words} is no list`;
  const name = nameOf(value);
  if (name === undefined && path.length === 1 && NAMED_LISTS.has(words)) return `an item of ${words} has a name`;
  if (
    name !== undefined &&
    (list.some((item) => nameOf(item) === name) || (path.length === 1 && made.has(`${words}.${name}`)))
  )
    return `${memberPathText([...path, name])} is there already`;
  list.push(value);
  return copy;
}

/** A name that is not written in a list may be one that a template makes. */
function missingWords(path: MemberPath, made: ReadonlyMap<string, string>): string {
  const words = memberPathText(path);
  const origin = made.get(words);
  return origin === undefined
    ? `${words} is not there`
    : `${words} is made with others by ${origin}: a change would be of all of them, and is made there`;
}

/** Items that templates make, with the place that makes them. */
function madeNames(source: Uint8Array): ReadonlyMap<string, string> {
  const { tree } = configurationTree(source);
  const written = readYaml(source).tree;
  const found = new Map<string, string>();
  if (tree === undefined || !isMapping(written)) return found;
  for (const section of NAMED_LISTS) {
    const [all, own] = [tree, written].map((one) => ownMember(one, section));
    if (!Array.isArray(all) || !Array.isArray(own)) continue;
    const names = new Set(own.map(nameOf));
    const makers = own.flatMap((item) =>
      isMapping(item) && (item.count ?? item.each) !== undefined ? [nameOf(item)] : [],
    );
    const maker =
      makers.length === 1 && makers[0] !== undefined
        ? memberPathText([section, makers[0]])
        : `count or each of ${section}`;
    for (const name of all.map(nameOf))
      if (name !== undefined && !names.has(name)) found.set(memberPathText([section, name]), maker);
  }
  return found;
}

/** The keys that the schema has for a mapping, in its order. */
function keysAt(tree: Tree, path: MemberPath): readonly string[] {
  let [schema, here]: [Schema, unknown] = [configSchema, tree];
  for (const part of path) {
    if (schema === undefined || typeof here !== 'object' || here === null) return [];
    schema = memberSchema(schema, here, part);
    here = memberIn(here, part);
  }
  const keys = schema === undefined ? [] : knownKeys(schema, here);
  // People write the kind of a thing behind its name.
  return keys.includes('name') ? ['name', 'kind', ...keys.filter((key) => key !== 'name' && key !== 'kind')] : keys;
}

/** Names that are there where a path leads to nothing. */
function expectedOf({ path, how }: Change, tree: Tree): string {
  let here: unknown = tree;
  for (const part of path) {
    const next = memberIn(here, part);
    if (next !== undefined) {
      here = next;
      continue;
    }
    const names = Array.isArray(here)
      ? here.flatMap((item) => nameOf(item) ?? [])
      : isMapping(here)
        ? Object.keys(here)
        : [];
    if (names.length === 0) break;
    const { hint } = didYouMean(String(part), names);
    return hint === undefined ? oneOf(names) : `${oneOf(names)}; ${hint}`;
  }
  return how === 'add' ? 'a list, and an item with a name of its own' : PATHS;
}

/** A copy in which nothing that came by an alias is one with another. */
function unshared(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unshared);
  return isMapping(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unshared(member)]))
    : value;
}
