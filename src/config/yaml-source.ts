/**
 * One YAML file as a tree of plain values that still knows where each of them stands. Bounded before it is believed: size, depth,
 * aliases; tabs, duplicate keys, unknown tags and `__proto__` are faults.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { ConfigFault, ConfigPath, PathFault } from './config-fault.ts';
import { pathText } from './config-fault.ts';

/** 1,000 sensors with all options need less than half of it. */
const LARGEST_FILE_LENGTH = 1024 * 1024;
/** The schema itself is at most 9 deep; JSON Schemas of RPC parameters go deeper. */
const DEEPEST = 32;
/** So many openings without a closing, or dashes in a row, that parsing them would take seconds before it failed. */
const BOMB = /(?:[[{][^[\]{}]*){200}|(?:[-?] ){200}/;
/** Anchors are for sharing a few key rules, not for growing a small file into a large tree. */
const MOST_ALIASES = 200;

/** Longest value that a message shows. */
const SHOWN_LENGTH = 60;

/** What the parser's codes mean to somebody who does not know YAML's grammar. */
const EXPLAINED: Readonly<Record<string, { readonly expected: string; readonly hint?: string }>> = {
  TAB_AS_INDENT: { expected: 'spaces', hint: 'YAML does not allow tabs for indentation: use two spaces' },
  DUPLICATE_KEY: { expected: 'each key once', hint: 'remove one of the two' },
  BAD_INDENT: { expected: 'the indentation of the lines around it' },
  MISSING_CHAR: { expected: 'the missing quote, colon or bracket' },
  MULTILINE_IMPLICIT_KEY: { expected: 'a key and its value on one line' },
  BLOCK_AS_IMPLICIT_KEY: { expected: 'one "key: value" a line', hint: 'check the indentation, and put values with ": " in quotes' },
  BAD_SCALAR_START: { expected: 'quotes around this value' },
  TAG_RESOLVE_FAILED: { expected: 'no tag', hint: 'put values that begin with ! in quotes' },
  MULTIPLE_DOCS: { expected: 'one document', hint: 'remove the --- line' },
};

export interface YamlSource {
  /** Plain values; undefined when the text is no YAML at all. */
  readonly tree: unknown;
  readonly faults: readonly ConfigFault[];
  /** The fault with its place in the file; `isSecret` keeps the value out of it. */
  locate(fault: PathFault, isSecret?: boolean): ConfigFault;
}

export function readYaml(text: string): YamlSource {
  const lines = new LineCounter();
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const broken = (problem: string, expected: string, place = { line: 1, column: 1 }): YamlSource => {
    const fault: ConfigFault = { ...place, path: '', problem, expected };
    return { tree: undefined, faults: [fault], locate: () => fault };
  };
  if (text.length > LARGEST_FILE_LENGTH) return broken(`${text.length} characters`, `at most ${LARGEST_FILE_LENGTH}`);
  if (BOMB.test(text)) return broken('nested too deeply', `at most ${DEEPEST} levels`);
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'silent',
      version: '1.2',
      schema: 'core',
      merge: false,
    });
    const root: Node | null = document.contents;
    const resolve = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
    const faults = [...document.errors, ...document.warnings].map((error): ConfigFault => {
      const { expected, hint } = EXPLAINED[error.code] ?? { expected: 'well-formed YAML' };
      return { ...at(error.pos[0]), path: '', problem: firstLine(error.message), expected, ...(hint === undefined ? {} : { hint }) };
    });
    const locate = (fault: PathFault, isSecret = false): ConfigFault => {
      const place = placeOf(root, fault, resolve);
      const value = fault.value ?? (fault.atKey === true ? undefined : asWritten(place.value, text, isSecret));
      return {
        ...at(place.offset),
        path: pathText(fault.path),
        problem: fault.problem ?? (value === undefined ? 'missing' : 'wrong value'),
        ...(value === undefined || value === '' ? {} : { value }),
        expected: fault.expected,
        ...(fault.hint === undefined ? {} : { hint: fault.hint }),
      };
    };
    if (faults.length > 0) return { tree: undefined, faults, locate };
    const tree: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
    const bad = firstBadMember(tree);
    return bad === undefined ? { tree, faults, locate } : { tree: undefined, faults: [locate(bad)], locate };
  } catch (error) {
    // The composer recurses; a file that overflows its stack is a file nobody wrote by hand.
    if (error instanceof RangeError) return broken('nested too deeply', `at most ${DEEPEST} levels`);
    if (error instanceof ReferenceError) return broken(firstLine(error.message), `known anchors, at most ${MOST_ALIASES} aliases`);
    throw error;
  }
}

/** The parser's words without what follows a colon: that is a piece of the file, and may be a token that begins with * or !. */
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/:.*$/, '');
}

/** Where a fault stands: at its value, at its key, or at what is nearest above when it is not there. */
function placeOf(
  root: unknown,
  { path, atKey }: PathFault,
  resolve: (node: unknown) => unknown,
): { readonly offset: number; readonly value?: unknown } {
  let node = resolve(root);
  let offset = startOf(node) ?? 0;
  for (const [depth, part] of path.entries()) {
    if (isSeq(node) && typeof part === 'number') {
      const item = node.items[part];
      offset = startOf(item) ?? offset;
      node = resolve(item);
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(part));
      if (pair === undefined) return { offset };
      const keyAt = startOf(pair.key) ?? offset;
      const wantsKey = atKey === true && depth === path.length - 1;
      const valueAt = isEmpty(pair.value) ? undefined : startOf(pair.value);
      offset = wantsKey ? keyAt : (valueAt ?? keyAt);
      node = resolve(pair.value);
    } else return { offset };
  }
  return { offset, value: node };
}

/** A value as the person wrote it: 0x12 stays 0x12, and ${NAME} its name. */
function asWritten(node: unknown, text: string, isSecret: boolean): string | undefined {
  if (node === undefined || isEmpty(node)) return undefined;
  if (isSecret) return '[secret]';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node) || !node.range) return 'a mapping';
  const written = text.slice(node.range[0], node.range[1]).trim();
  const plain = JSON.stringify(written.replace(/^(["'])(.*)\1$/s, '$2'));
  const shown = typeof node.value === 'string' ? plain : written;
  return shown.length > SHOWN_LENGTH ? `${shown.slice(0, SHOWN_LENGTH)}…` : shown;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

function startOf(node: unknown): number | undefined {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range) ? Number(node.range[0]) : undefined;
}

/** Anchors can make a tree that contains itself: depth is counted on the result. */
function firstBadMember(value: unknown, path: ConfigPath = []): PathFault | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length >= DEEPEST) return { path: path.slice(0, 3), problem: 'nested too deeply', expected: `at most ${DEEPEST} levels` };
  for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (key === '__proto__') return { path: [...path, key], atKey: true, problem: 'forbidden key', expected: 'another name' };
    const bad = firstBadMember(member, [...path, key]);
    if (bad !== undefined) return bad;
  }
  return undefined;
}
