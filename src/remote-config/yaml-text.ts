/**
 * The text of a YAML file with members set, removed and added in place: every other character stays, with comments, order, quotes and blanks. Places
 * come from the document that the library parses. `patch.ts` reads the result again and compares it with what was meant.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Pair,
  Scalar,
  stringify,
} from 'yaml';
import { composeBounded } from '../config/yaml/yaml-bounds.ts';
import { isMergeKey } from '../config/yaml/yaml-tree.ts';
import type { MemberPath } from './member-path.ts';

/** A longer value is written over several lines where it may be. */
const MAX_FLOW = 100;

/** A place that cannot be written to; the message says why. */
export class NoPlace extends Error {
  /** Words of the path that lead to it. */
  readonly depth: number;

  constructor(depth: number, message: string) {
    super(message);
    this.depth = depth;
  }
}

/** A value, with the mapping or list that holds it. */
interface Place {
  readonly node: unknown;
  readonly parent: Place | undefined;
  /** Key and value, in a mapping. */
  readonly pair?: Pair;
  /** Index in its mapping or list. */
  readonly at: number;
}

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Keys in the order in which a mapping has them, by its path. */
export type KeyOrder = (path: MemberPath) => readonly string[];

export class YamlText {
  #text: string;
  #document: Document.Parsed;
  /** Replacements that are not in the text yet: they are written together, as parsing takes a board long. */
  #replaced: readonly Splice[] = [];
  readonly #eol: string;

  constructor(text: string) {
    this.#text = text;
    this.#document = documentOf(text);
    this.#eol = text.includes('\r\n') ? '\r\n' : '\n';
  }

  get text(): string {
    this.#writeReplaced();
    return this.#text;
  }

  /** Sets a member; what is missing of the way to it is made. @throws NoPlace. */
  set(path: MemberPath, value: unknown, order: KeyOrder): void {
    const found = this.#walk(path);
    if (found.depth === path.length) {
      const splice = this.#replacement(found.place, value);
      if (!this.#replaced.some(({ from, to }) => splice.from <= to && from <= splice.to)) {
        this.#replaced = [...this.#replaced, splice];
        return;
      }
    }
    const { place, depth } = this.#writeReplaced() ? this.#walk(path) : found;
    if (depth === path.length) {
      this.#splice(this.#replacement(place, value));
      return;
    }
    const [key] = path.slice(depth);
    if (typeof key !== 'string') throw new NoPlace(depth + 1, 'there is no item of this number');
    if (isSeq(place.node)) throw new NoPlace(depth + 1, 'there is no item of this name');
    const rest = path.slice(depth + 1);
    if (rest.some((part) => typeof part === 'number')) throw new NoPlace(depth + 1, 'there is no such list');
    const inner = rest.reduceRight<unknown>((made, part) => ({ [part]: made }), value);
    if (isMap(place.node)) {
      this.#splice(this.#newMember(place, { key, value: inner, order: order(path.slice(0, depth)) }));
      return;
    }
    if (!isEmpty(place.node))
      throw new NoPlace(depth, isAlias(place.node) ? fromAnchor(place.node.source) : 'has no members');
    this.#splice(this.#replacement(place, { [key]: inner }));
  }

  /** @throws NoPlace. */
  remove(path: MemberPath): void {
    this.#writeReplaced();
    const { place, depth } = this.#walk(path);
    if (depth < path.length) throw new NoPlace(depth + 1, 'is not there');
    this.#splice(this.#removal(place));
  }

  /** Puts an item at the end of a list. @throws NoPlace. */
  add(path: MemberPath, item: unknown, order: KeyOrder): void {
    this.#writeReplaced();
    const { place, depth } = this.#walk(path);
    if (depth < path.length || isEmpty(place.node)) {
      this.set(path, [item], order);
      return;
    }
    if (isAlias(place.node)) throw new NoPlace(depth, fromAnchor(place.node.source));
    if (!isSeq(place.node)) throw new NoPlace(depth, 'is no list');
    const last = place.node.items.at(-1);
    const { flow } = place.node;
    if (last === undefined) {
      this.#splice(this.#replacement(place, [item]));
      return;
    }
    const end = this.#end(last);
    if (flow === true) {
      this.#splice({ from: end, to: end, text: `, ${flowText(item)}` });
      return;
    }
    const line = this.#lineEnd(end);
    const indent = this.#column(startOf(place.node));
    this.#splice({ from: line, to: line, text: this.#lines(listLines([item]), indent) });
  }

  /** Follows a path as far as it exists. */
  #walk(path: MemberPath): { readonly place: Place; readonly depth: number } {
    let place: Place = { node: this.#document.contents, parent: undefined, at: 0 };
    for (const [depth, part] of path.entries()) {
      if (isAlias(place.node)) throw new NoPlace(depth, fromAnchor(place.node.source));
      const next = this.#member(place, part);
      if (next === undefined) return { place, depth };
      place = next;
    }
    return { place, depth: path.length };
  }

  #member(parent: Place, part: string | number): Place | undefined {
    const { node } = parent;
    if (isMap(node)) {
      const at = node.items.findIndex(({ key }) => !isMergeKey(key) && keyOf(key) === String(part));
      const pair = node.items[at];
      return pair === undefined ? undefined : { node: pair.value, parent, pair, at };
    }
    if (!isSeq(node)) return undefined;
    const at = typeof part === 'number' ? part : node.items.findIndex((item) => this.#nameOf(item) === part);
    return at in node.items ? { node: node.items[at], parent, at } : undefined;
  }

  #nameOf(item: unknown): string | undefined {
    const map = isAlias(item) ? item.resolve(this.#document) : item;
    if (!isMap(map)) return undefined;
    const name =
      map.items.find(({ key }) => keyOf(key) === 'name') ?? map.items.find(({ key }) => keyOf(key) === 'title');
    return isScalar(name?.value) && typeof name.value.value === 'string' ? name.value.value : undefined;
  }

  #replacement(place: Place, value: unknown): Splice {
    const { node, pair, parent } = place;
    if (parent === undefined) throw new NoPlace(0, 'is the whole file');
    const text = like(node, value);
    if (!isEmpty(node) && !isBlock(node)) return { from: startOf(node), to: this.#end(node), text };
    const to = isEmpty(node) ? undefined : this.#end(node);
    if (pair === undefined) {
      const from = startOf(node);
      return { from, to: to ?? from, text: this.#lines(blockLines(value), this.#column(from)).trimStart() };
    }
    const from = this.#colonEnd(pair);
    return { from, to: to ?? from, text: this.#afterColon(value, parent) };
  }

  #newMember(
    place: Place,
    member: { readonly key: string; readonly value: unknown; readonly order: readonly string[] },
  ): Splice {
    const { node } = place;
    if (!isMap(node)) throw new NoPlace(0, 'has no members');
    const text = `${flowText(member.key)}:`;
    const before = memberBefore(node.items, member);
    if (node.flow === true) {
      const inner = `${text} ${flowText(member.value)}`;
      if (before === undefined) return { from: startOf(node), to: this.#end(node), text: `{ ${inner} }` };
      const end = this.#pairEnd(before);
      return { from: end, to: end, text: `, ${inner}` };
    }
    if (before === undefined) throw new NoPlace(0, 'has no members');
    const line = this.#lineEnd(this.#pairEnd(before));
    const indent = this.#column(startOf(node.items[0]?.key));
    const value = this.#afterColon(member.value, place);
    return { from: line, to: line, text: `${this.#eol}${' '.repeat(indent)}${text}${value}` };
  }

  #removal({ node, pair, parent, at }: Place): Splice {
    const holder = parent?.node;
    if (parent === undefined || !isCollection(holder)) throw new NoPlace(0, 'is the whole file');
    const { items } = holder as { readonly items: readonly unknown[] };
    if (items.length === 1) return this.#replacement(parent, isMap(holder) ? {} : []);
    const ends = (item: unknown): readonly [number, number] =>
      item instanceof Pair ? [startOf(item.key), this.#pairEnd(item)] : [startOf(item), this.#end(item)];
    const [from, to] = ends(items[at]);
    const next = items[at + 1];
    if (holder.flow === true)
      return next === undefined
        ? { from: ends(items[at - 1])[1], to, text: '' }
        : { from, to: ends(next)[0], text: '' };
    const lineStart = this.#text.lastIndexOf('\n', from - 1) + 1;
    const before = this.#text.slice(lineStart, from);
    const isOwnLine = pair === undefined ? /^ *- *$/.test(before) : /^ *$/.test(before);
    if (!isOwnLine && next !== undefined) return { from, to: ends(next)[0], text: '' };
    if (!isOwnLine)
      throw new NoPlace(
        0,
        `stands in a line with others${node === undefined ? '' : ', and cannot be taken out of it'}`,
      );
    const end = this.#text.indexOf('\n', this.#lineEnd(to));
    // The last line goes with the break before it.
    if (end < 0) return { from: this.#lineEnd(Math.max(0, lineStart - 1)), to: this.#text.length, text: '' };
    return { from: lineStart, to: end + 1, text: '' };
  }

  /** A value behind its key: on the line, or on lines of its own below. */
  #afterColon(value: unknown, holder: Place): string {
    const text = flowText(value);
    if (text.length <= MAX_FLOW || typeof value !== 'object' || (isMap(holder.node) && holder.node.flow === true))
      return ` ${text}`;
    const indent = this.#column(startOf(isMap(holder.node) ? holder.node.items[0]?.key : holder.node));
    return this.#lines(blockLines(value), indent + 2);
  }

  #lines(lines: readonly string[], indent: number): string {
    return lines.map((line) => `${this.#eol}${' '.repeat(indent)}${line}`).join('');
  }

  /** Returns the offset behind the last character of a value, without the comments that follow it. */
  #end(node: unknown): number {
    if (isCollection(node) && node.flow !== true) {
      const last = (node as { readonly items: readonly unknown[] }).items.at(-1);
      if (last instanceof Pair) return this.#pairEnd(last);
      if (last !== undefined) return this.#end(last);
    }
    const [from, to] = rangeOf(node);
    if (!isScalar(node) || !(node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')) return to;
    return from + this.#text.slice(from, to).trimEnd().length;
  }

  #pairEnd(pair: Pair): number {
    return isEmpty(pair.value) ? this.#colonEnd(pair) : this.#end(pair.value);
  }

  #colonEnd({ key }: Pair): number {
    const end = rangeOf(key)[1];
    const colon = this.#text.indexOf(':', end);
    return /^\s*$/.test(this.#text.slice(end, colon)) ? colon + 1 : end;
  }

  #lineEnd(from: number): number {
    const end = this.#text.indexOf('\n', from);
    if (end < 0) return this.#text.length;
    return this.#text[end - 1] === '\r' ? end - 1 : end;
  }

  #column(offset: number): number {
    return offset - (this.#text.lastIndexOf('\n', offset - 1) + 1);
  }

  /** Returns true where the text is another by now. */
  #writeReplaced(): boolean {
    const splices = this.#replaced.toSorted((one, other) => other.from - one.from);
    if (splices.length === 0) return false;
    this.#replaced = [];
    this.#write(splices);
    return true;
  }

  #splice(splice: Splice): void {
    this.#write([splice]);
  }

  /** @param splices the later place first. */
  #write(splices: readonly Splice[]): void {
    for (const { from, to, text } of splices) this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
    this.#document = documentOf(this.#text);
  }
}

/** Parses a text without its faults: `patch.ts` finds them in the result. */
function documentOf(text: string): Document.Parsed {
  const [document] = composeBounded(text, new LineCounter());
  if (document === undefined) throw new NoPlace(0, 'is an empty file');
  return document;
}

function fromAnchor(name: string): string {
  return `comes from the anchor &${name}, and others with it: change it where the anchor is, or write a value of its own first`;
}

/** The member behind which a new one belongs: the nearest that the order has before it, else the last. */
function memberBefore(
  items: readonly Pair[],
  { key, order }: { readonly key: string; readonly order: readonly string[] },
): Pair | undefined {
  const placeOf = (item: Pair): number => order.indexOf(keyOf(item.key) ?? '');
  const own = order.indexOf(key);
  const earlier = items.filter((item) => placeOf(item) >= 0 && placeOf(item) < own);
  return earlier.toSorted((a, b) => placeOf(a) - placeOf(b)).at(-1) ?? items.at(-1);
}

function keyOf(key: unknown): string | undefined {
  return isScalar(key) ? String(key.value) : undefined;
}

type Quotes = 'PLAIN' | 'QUOTE_DOUBLE' | 'QUOTE_SINGLE';

/** On one line, so that it fits into lists and mappings between brackets. */
function flowText(value: unknown, quotes: Quotes = 'PLAIN'): string {
  if (Array.isArray(value)) return `[${value.map((item) => flowText(item)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => `${flowText(key)}: ${flowText(member)}`);
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
  }
  // As an item between brackets a text gets quotes for a comma, too.
  const text = stringify([value], {
    collectionStyle: 'flow',
    lineWidth: 0,
    blockQuote: false,
    defaultStringType: quotes,
    defaultKeyType: 'PLAIN',
  });
  return text.trim().slice(1, -1).trim();
}

/** Writes a value in the form of the one that it replaces: with its quotes, or in hex. */
function like(node: unknown, value: unknown): string {
  if (!isScalar(node)) return flowText(value);
  if (node.format === 'HEX' && Number.isInteger(value) && Number(value) >= 0) return `0x${Number(value).toString(16)}`;
  const quotes = node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE ? node.type : 'PLAIN';
  return typeof value === 'string' ? flowText(value, quotes) : flowText(value);
}

function blockLines(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return listLines(value);
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [flowText(value)];
  return Object.entries(value).flatMap(([key, member]) => {
    const text = flowText(member);
    const isLong = text.length > MAX_FLOW && typeof member === 'object';
    return isLong
      ? [`${flowText(key)}:`, ...blockLines(member).map((line) => `  ${line}`)]
      : [`${flowText(key)}: ${text}`];
  });
}

function listLines(items: readonly unknown[]): readonly string[] {
  return items.flatMap((item) => blockLines(item).map((line, at) => (at === 0 ? `- ${line}` : `  ${line}`)));
}

function isBlock(node: unknown): boolean {
  return isCollection(node)
    ? node.flow !== true
    : isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED');
}

/** True where no value is written. */
function isEmpty(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null && node.source === '');
}

function rangeOf(node: unknown): readonly [number, number] {
  const range: unknown = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
  if (!Array.isArray(range)) throw new NoPlace(0, 'has no place in the file');
  return [Number(range[0]), Number(range[1])];
}

function startOf(node: unknown): number {
  return rangeOf(node)[0];
}
