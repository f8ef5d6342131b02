/**
 * A YAML document as plain values, checked on the way: keys are texts and come once, anchors are known before they are used and do not grow
 * a small file into a large tree, and nothing lies deeper than a configuration does.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair } from 'yaml';
import type { ConfigPath, PathFault } from './fields/config-fault.ts';
import { didYouMeanWhenTold } from './fields/did-you-mean.ts';
import { MAX_FAULTS } from './yaml-bounds.ts';

/** The schema itself is at most 9 deep; JSON Schemas of RPC parameters go deeper. */
const DEEPEST = 32;
/** Anchors are for sharing a few key rules: so often one may be used, those within it counted too. */
const MAX_ALIASES = 200;
/** Values that anchors may add to a tree. */
const MAX_SHARED_VALUES = 100_000;

/** A fault at a node, or, where its place is known by its path, at the value there. */
export interface TreeFault extends PathFault {
  readonly node?: unknown;
}

/** A value, with what it would cost to use it again. */
interface Branch {
  readonly value: unknown;
  readonly height: number;
  readonly values: number;
  readonly aliases: number;
}

interface Anchor extends Branch {
  uses: number;
}

/** The plain values of a document, and what is wrong with it; with a fault the values are not whole. */
export function treeOf(document: Document.Parsed): { readonly tree: unknown; readonly faults: readonly TreeFault[] } {
  const builder = new TreeBuilder();
  const { value } = builder.build(document.contents, []);
  return { tree: value, faults: builder.faults };
}

class TreeBuilder {
  readonly faults: TreeFault[] = [];
  readonly #anchors = new Map<string, Anchor>();
  #shared = 0;

  build(node: unknown, path: ConfigPath): Branch {
    if (isAlias(node)) return this.#use(node, path);
    const branch = this.#plain(node, path);
    const { anchor } = (node ?? {}) as Node & { readonly anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, { ...branch, uses: 0 });
    return branch;
  }

  #plain(node: unknown, path: ConfigPath): Branch {
    if (isScalar(node)) return leaf(node.value);
    if (!isMap(node) && !isSeq(node)) return leaf(null);
    if (path.length >= DEEPEST) return this.#tooDeep(path);
    const value: unknown[] | Record<string, unknown> = isSeq(node) ? [] : {};
    let [height, values, aliases] = [0, 1, 0];
    const add = (member: Branch): unknown => {
      height = Math.max(height, member.height);
      values += member.values;
      aliases += member.aliases;
      return member.value;
    };
    if (Array.isArray(value)) for (const [index, item] of node.items.entries()) value.push(add(this.build(item, [...path, index])));
    else {
      for (const pair of node.items as Pair[]) {
        const key = this.#keyOf(pair, value, path);
        const member = add(this.build(pair.value, [...path, key ?? '']));
        if (key !== undefined) value[key] = member;
      }
    }
    return { value, height: height + 1, values, aliases };
  }

  /** Undefined for a key that is none. */
  #keyOf({ key: node, value: beside }: Pair, mapping: Readonly<Record<string, unknown>>, path: ConfigPath): string | undefined {
    const written = isScalar(node) ? node.value : undefined;
    if (written === null || written === undefined) {
      // A key of no characters has its place before the line.
      const place = isScalar(node) && node.range?.[0] === node.range?.[1] ? beside : node;
      this.#fault({ node: place, path, problem: 'a key that is no text', expected: 'a word before the colon' });
      return undefined;
    }
    const key = String(written);
    if (key === '__proto__') this.#fault({ node, path: [...path, key], problem: 'forbidden key', expected: 'another name' });
    else if (Object.hasOwn(mapping, key))
      this.#fault({ node, path: [], problem: 'Map keys must be unique', expected: 'each key once', hint: 'remove one of the two' });
    else return key;
    return undefined;
  }

  #use(node: { readonly source: string }, path: ConfigPath): Branch {
    const anchor = this.#anchors.get(node.source);
    if (anchor === undefined) {
      // The anchor's name may be a token that begins with * and wanted quotes.
      const hint = didYouMeanWhenTold(node.source, [...this.#anchors.keys()], 'put values that begin with * in quotes');
      const expected = 'an anchor of this name, set before it is used';
      this.#fault({ node, path, problem: 'an alias without its anchor', expected, ...hint });
      return leaf(null);
    }
    anchor.uses += 1;
    this.#shared += anchor.values;
    if (anchor.uses * Math.max(1, anchor.aliases) > MAX_ALIASES || this.#shared > MAX_SHARED_VALUES) {
      this.#faultOnce({ path: [], problem: 'too many aliases', expected: `at most ${MAX_ALIASES} uses of an anchor` });
      return leaf(null);
    }
    if (path.length + anchor.height > DEEPEST) return this.#tooDeep(path);
    return { ...anchor, aliases: anchor.aliases + 1 };
  }

  #tooDeep(path: ConfigPath): Branch {
    this.#faultOnce({ path: path.slice(0, 3), problem: 'nested too deeply', expected: `at most ${DEEPEST} levels` });
    return leaf(null);
  }

  /** Reports a fault of the whole file, once. */
  #faultOnce(fault: TreeFault): void {
    if (!this.faults.some(({ problem }) => problem === fault.problem)) this.#fault(fault);
  }

  #fault(fault: TreeFault): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault);
  }
}

function leaf(value: unknown): Branch {
  return { value, height: 0, values: 1, aliases: 0 };
}
