/**
 * One YAML file as a tree of plain values that still knows where each of them stands. Bounded before it is believed (yaml-bounds.ts); tabs,
 * duplicate keys, unknown tags, unknown anchors, a second document and `__proto__` are faults.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, type YAMLMap } from 'yaml';
import { type ConfigFault, type ConfigPath, type PathFault, pathText } from '../fields/config-fault.ts';
import { withoutUser } from '../fields/shown-value.ts';
import { composeBounded, decodeText, MAX_FAULTS, YamlLimit } from './yaml-bounds.ts';
import { isMergeKey, type TreeFault, treeOf } from './yaml-tree.ts';

/** Longest value that a message shows. */
const SHOWN_LENGTH = 60;

/** Explanations of the parser's codes for somebody who does not know YAML's grammar. */
const EXPLAINED: Readonly<Record<string, { readonly expected: string; readonly hint?: string }>> = {
  TAB_AS_INDENT: { expected: 'spaces', hint: 'YAML does not allow tabs for indentation: use two spaces' },
  DUPLICATE_KEY: { expected: 'each key once', hint: 'remove one of the two' },
  BAD_INDENT: { expected: 'the indentation of the lines around it' },
  MISSING_CHAR: { expected: 'the missing quote, colon or bracket' },
  MULTILINE_IMPLICIT_KEY: { expected: 'a key and its value on one line' },
  BLOCK_AS_IMPLICIT_KEY: {
    expected: 'one "key: value" a line',
    hint: 'check the indentation, and put values with ": " in quotes',
  },
  BAD_SCALAR_START: { expected: 'quotes around this value' },
  TAG_RESOLVE_FAILED: { expected: 'no tag', hint: 'put values that begin with ! in quotes' },
  UNEXPECTED_TOKEN: {
    expected: 'a value in quotes, or a comma or a bracket before it',
    hint: 'within { } and [ ] a value that has { } [ ] or , in it stands in quotes: "gw-{hostname}"',
  },
};
/** Words of Node where the composer, which recurses, has no stack left. */
const OVERFLOW = /call stack|regular expression/;
const TOO_DEEP = { problem: 'nested too deeply', expected: 'a few levels' };
/** After any other fault the parser still knows where it is: what it finds behind these is their consequence. */
const GOES_ON_AFTER: ReadonlySet<string> = new Set([
  'DUPLICATE_KEY',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
  'TAB_AS_INDENT',
]);

export interface YamlSource {
  /** Plain values; undefined when the text is no YAML at all. */
  readonly tree: unknown;
  readonly faults: readonly ConfigFault[];
  /** Rest of a tree with such faults as keys that stand twice, to find others in it; and where it is not what was meant. */
  readonly remains?: { readonly tree: unknown; readonly spoilt: readonly ConfigPath[] };
  /** Where the file has what stands at a path of the tree, and the item that was made of it. */
  origin(path: ConfigPath): { readonly path: ConfigPath; readonly of?: string };
  place(fault: PathFault): Place;
  /** The fault with its place in the file; `isSecret` keeps the value out of it. */
  locate(fault: PathFault, isSecret?: boolean): ConfigFault;
}

export interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

export function readYaml(source: string | Uint8Array): YamlSource {
  const lines = new LineCounter();
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const decoded = decodeText(source);
  if (typeof decoded !== 'string') {
    const { text: before, offset, ...fault } = decoded;
    return broken(fault, placeIn(before, offset));
  }
  try {
    const [document, second] = firstTwo(composeBounded(decoded, lines));
    if (second !== undefined)
      return broken(
        { problem: 'a second document', expected: 'one document', hint: 'remove the --- line' },
        at(second.range[0]),
      );
    return document === undefined
      ? broken({ problem: 'nothing', expected: 'a configuration' })
      : sourceOf(document, decoded, at);
  } catch (error) {
    if (error instanceof YamlLimit)
      return broken({ problem: error.message, expected: error.expected }, placeIn(decoded, error.offset));
    // The composer recurses; a file that overflows its stack is a file nobody wrote by hand.
    if (error instanceof RangeError) return broken(TOO_DEEP);
    throw error;
  }
}

function sourceOf(document: Document.Parsed, text: string, at: (offset: number) => Place): YamlSource {
  const nodes = new NodeFinder(document);
  const locate = (fault: PathFault, isSecret = false): ConfigFault => {
    const place = nodes.find(fault);
    const hint = typeof fault.hint === 'function' ? fault.hint() : fault.hint;
    const written = fault.atKey === true ? undefined : asWritten(place.value, text, isSecret);
    const value = fault.value === undefined ? written : shown(fault.value);
    return {
      ...at(place.offset),
      path: pathText(fault.path),
      problem: fault.problem ?? (value === undefined ? 'missing' : 'wrong value'),
      value: value || undefined,
      expected: fault.expected,
      hint,
      mayPass: fault.mayPass,
      onGateway: fault.onGateway,
    };
  };
  const place = (fault: PathFault): Place => at(nodes.find(fault).offset);
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  if (errors.some(({ message }) => OVERFLOW.test(message))) return broken(TOO_DEEP);
  const first = errors.findIndex(({ code }) => !GOES_ON_AFTER.has(code));
  const faults = errors.slice(0, first < 0 ? errors.length : first + 1).map((error): ConfigFault => {
    const explained = EXPLAINED[error.code] ?? { expected: 'well-formed YAML' };
    return { ...at(error.pos[0]), path: '', problem: firstLine(error.message), ...explained };
  });
  const origin = asWrittenThere;
  if (faults.length > 0) return { tree: undefined, faults, origin, place, locate };
  const { tree, faults: found } = treeOf(document);
  if (found.length === 0) return { tree, faults: [], origin, place, locate };
  const placed = ({ node, ...fault }: TreeFault): ConfigFault => {
    const start = startOf(node);
    // Without its value, which may be a token that begins with *.
    const located = locate({ ...fault, value: '' });
    if (start !== undefined) return { ...located, ...at(start) };
    // A fault of the whole file has the path of its root.
    return fault.path.length === 0 ? { ...located, line: 1, column: 1 } : located;
  };
  const spoilt = found.filter(({ spoils = true }) => spoils).map(({ path }) => path);
  // Nobody knows what more faults spoil than are told.
  const remains = found.length < MAX_FAULTS ? { tree, spoilt } : undefined;
  return {
    tree: undefined,
    faults: found.map(placed),
    remains,
    origin,
    place,
    locate,
  };
}

/** A text that is not even looked into. */
function broken(said: Omit<ConfigFault, keyof Place | 'path'>, place: Place = { line: 1, column: 1 }): YamlSource {
  const fault: ConfigFault = { ...place, path: '', ...said };
  return { tree: undefined, faults: [fault], origin: asWrittenThere, place: () => place, locate: () => fault };
}

function asWrittenThere(path: ConfigPath): { readonly path: ConfigPath } {
  return { path };
}

function placeIn(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The second tells that there are several; the others are not even composed. */
function firstTwo<T>(all: Iterable<T>): readonly T[] {
  const found: T[] = [];
  for (const one of all) if (found.push(one) === 2) break;
  return found;
}

/** The parser's words without what follows a colon: that is a piece of the file, and may be a token that begins with * or !. */
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/:.*$/, '');
}

/** Where a fault stands: at its value, at its key, or at what is nearest above when it is not there. */
class NodeFinder {
  readonly #document: Document.Parsed;
  /** Pairs of mappings that were looked into: a file may have as many faults as it has keys. */
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>();

  constructor(document: Document.Parsed) {
    this.#document = document;
  }

  find({ path, atKey }: { readonly path: ConfigPath; readonly atKey?: boolean }): {
    readonly offset: number;
    readonly value?: unknown;
  } {
    let node = this.#resolve(this.#document.contents);
    let offset = startOf(node) ?? 0;
    for (const [depth, part] of path.entries()) {
      if (isSeq(node) && typeof part === 'number') {
        const item = node.items[part];
        offset = startOf(item) ?? offset;
        node = this.#resolve(item);
      } else if (isMap(node)) {
        const pair = this.#pairsOf(node).get(String(part));
        if (pair === undefined) return { offset };
        const keyAt = startOf(pair.key) ?? offset;
        const wantsKey = atKey === true && depth === path.length - 1;
        const valueAt = isEmpty(pair.value) ? undefined : startOf(pair.value);
        offset = wantsKey ? keyAt : (valueAt ?? keyAt);
        node = this.#resolve(pair.value);
      } else return { offset };
    }
    return { offset, value: node };
  }

  #resolve(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node;
  }

  #pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    const known = this.#pairs.get(map);
    if (known !== undefined) return known;
    const own = (map.items as Pair[]).map(
      (pair) => [String(isScalar(pair.key) ? pair.key.value : pair.key), pair] as const,
    );
    // The first of two with one key is in the tree.
    const pairs = new Map([...this.#mergedInto(map), ...own.toReversed()]);
    this.#pairs.set(map, pairs);
    return pairs;
  }

  /** The pairs that merge keys bring, the first of them last. */
  #mergedInto(map: YAMLMap): (readonly [string, Pair])[] {
    const merges = (map.items as Pair[]).filter(({ key }) => isMergeKey(key)).map(({ value }) => this.#resolve(value));
    const maps = merges.flatMap((value) => (isSeq(value) ? value.items.map((item) => this.#resolve(item)) : [value]));
    return maps.toReversed().flatMap((value) => (isMap(value) ? [...this.#pairsOf(value)] : []));
  }
}

/** A value as the person wrote it: 0x12 stays 0x12, and ${NAME} its name. */
function asWritten(node: unknown, text: string, isSecret: boolean): string | undefined {
  if (node === undefined || isEmpty(node)) return undefined;
  if (isSecret) return '[secret]';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node) || !node.range) return 'a mapping';
  const written = text.slice(node.range[0], node.range[1]).trim();
  const plain = JSON.stringify(written.replace(/^(["'])(.*)\1$/s, '$2'));
  return shown(typeof node.value === 'string' ? plain : written);
}

/** Short, and without the user, password and query of an address. */
function shown(value: string): string {
  const harmless = withoutUser(value);
  return harmless.length > SHOWN_LENGTH ? `${harmless.slice(0, SHOWN_LENGTH)}…` : harmless;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

function startOf(node: unknown): number | undefined {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)
    ? Number(node.range[0])
    : undefined;
}
