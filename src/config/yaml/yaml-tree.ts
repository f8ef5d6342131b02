/**
 * A YAML document as plain values, checked on the way: keys are texts and come once, anchors are known before they are used and do not grow
 * a small file into a large tree, and nothing lies deeper than a configuration does.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, Scalar } from 'yaml';
import type { ConfigPath, PathFault } from '../fields/config-fault.ts';
import { didYouMeanWhenTold } from '../fields/did-you-mean.ts';
import { MAX_FAULTS } from './yaml-bounds.ts';

/** The schema itself is at most 9 deep; JSON Schemas of RPC parameters go deeper. */
const DEEPEST = 32;
/** Values that anchors may add to a tree: they are for sharing a few key rules. */
const MAX_SHARED_VALUES = 5_000;

const MERGE_KEY = '<<';

/** True for a key that brings the keys of another mapping (YAML's merge type), where the mapping has none of its own. */
export function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === MERGE_KEY && key.type === Scalar.PLAIN;
}

/** A fault at a node, or, where its place is known by its path, at the value there. */
export interface TreeFault extends PathFault {
  readonly node?: unknown;
  /** False where what is at its path is what was written all the same. */
  readonly spoils?: boolean;
}

/** The plain values of a document, and what is wrong with it; with a fault the values are not whole. */
export function treeOf(document: Document.Parsed): { readonly tree: unknown; readonly faults: readonly TreeFault[] } {
  const builder = new TreeBuilder();
  return { tree: builder.build(document.contents, []), faults: builder.faults };
}

class TreeBuilder {
  readonly faults: TreeFault[] = [];
  readonly #anchors = new Map<string, unknown>();
  #shared = 0;

  build(node: unknown, path: ConfigPath): unknown {
    if (isAlias(node)) return this.#use(node, path);
    const value = this.#plain(node, path);
    const { anchor } = (node ?? {}) as Node & { readonly anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, value);
    return value;
  }

  #plain(node: unknown, path: ConfigPath): unknown {
    if (isScalar(node)) return node.value;
    if (!isMap(node) && !isSeq(node)) return null;
    if (path.length >= DEEPEST) return this.#tooDeep(path);
    if (isSeq(node)) return node.items.map((item, index) => this.build(item, [...path, index]));
    const mapping: Record<string, unknown> = {};
    let merged: Record<string, unknown> = {};
    for (const pair of node.items as Pair[]) {
      if (isMergeKey(pair.key)) {
        merged = { ...this.#mergedBy(pair, path), ...merged };
        continue;
      }
      const key = this.#keyOf(pair, mapping, path);
      const member = this.build(pair.value, [...path, key ?? '']);
      if (key !== undefined) mapping[key] = member;
    }
    return { ...merged, ...mapping };
  }

  /** The keys that `<<` brings, of one mapping or of a list in which the first wins. */
  #mergedBy({ key, value }: Pair, path: ConfigPath): Readonly<Record<string, unknown>> {
    const brought = this.build(value, [...path, MERGE_KEY]);
    const mappings: unknown[] = Array.isArray(brought) ? brought : [brought];
    if (mappings.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one)))
      return Object.assign({}, ...mappings.toReversed());
    this.#fault({
      node: key,
      path,
      problem: '<< without a mapping',
      expected: 'an alias of a mapping, or a list of them: <<: *meter',
    });
    return {};
  }

  /** Undefined for a key that is none. */
  #keyOf(
    { key: node, value: beside }: Pair,
    mapping: Readonly<Record<string, unknown>>,
    path: ConfigPath,
  ): string | undefined {
    const written = isScalar(node) ? node.value : undefined;
    if (written === null || written === undefined) {
      // A key of no characters has its place before the line.
      const place = isScalar(node) && node.range?.[0] === node.range?.[1] ? beside : node;
      this.#fault({ node: place, path, problem: 'a key that is no text', expected: 'a word before the colon' });
      return undefined;
    }
    const key = String(written);
    if (key === '__proto__')
      this.#fault({ node, path: [...path, key], problem: 'forbidden key', expected: 'another name' });
    else if (Object.hasOwn(mapping, key))
      this.#fault({
        node,
        path: [],
        spoils: false,
        problem: 'Map keys must be unique',
        expected: 'each key once',
        hint: 'remove one of the two',
      });
    else return key;
    return undefined;
  }

  #use(node: { readonly source: string }, path: ConfigPath): unknown {
    if (!this.#anchors.has(node.source)) {
      // The anchor's name may be a token that begins with * and wanted quotes.
      const hint = didYouMeanWhenTold(node.source, [...this.#anchors.keys()], 'put values that begin with * in quotes');
      const expected = 'an anchor of this name, set before it is used';
      this.#fault({ node, path, problem: 'an alias without its anchor', expected, ...hint });
      return null;
    }
    const value = this.#anchors.get(node.source);
    const weight = this.#shared > MAX_SHARED_VALUES ? { height: 0, values: 0 } : weightOf(value);
    this.#shared += weight.values;
    if (this.#shared > MAX_SHARED_VALUES) {
      this.#faultOnce({
        path: [],
        problem: 'too many aliases',
        expected: `at most ${MAX_SHARED_VALUES} values by them`,
      });
      return null;
    }
    return path.length + weight.height > DEEPEST ? this.#tooDeep(path) : value;
  }

  #tooDeep(path: ConfigPath): null {
    this.#faultOnce({ path: path.slice(0, 3), problem: 'nested too deeply', expected: `at most ${DEEPEST} levels` });
    return null;
  }

  /** Reports a fault of the whole file, once. */
  #faultOnce(fault: TreeFault): void {
    if (!this.faults.some(({ problem }) => problem === fault.problem)) this.#fault(fault);
  }

  #fault(fault: TreeFault): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }
}

/** How many levels and values another use of a value adds. */
function weightOf(value: unknown): { readonly height: number; readonly values: number } {
  if (typeof value !== 'object' || value === null) return { height: 0, values: 1 };
  const members = Object.values(value).map(weightOf);
  return {
    height: 1 + members.reduce((height, member) => Math.max(height, member.height), 0),
    values: 1 + members.reduce((values, member) => values + member.values, 0),
  };
}
