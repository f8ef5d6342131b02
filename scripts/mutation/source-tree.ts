/**
 * A source file as the tree that vitest's own parser makes of it (ESTree). Only what every node has is typed here: the mutation runner
 * looks at few kinds of nodes, and at those by name.
 */
import { parseAst } from 'vitest/node';

export interface SourceNode {
  readonly type: string;
  /** Offsets into the text, of the first character and behind the last one. */
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** @throws when the text is no TypeScript. */
export function parseSource(text: string): SourceNode {
  return parseAst(text, { lang: 'ts' }) as unknown as SourceNode;
}

/** The nodes directly below one, by the field that holds them, in the order of the text. */
export function childrenOf(node: SourceNode): { readonly field: string; readonly child: SourceNode }[] {
  const found: { field: string; child: SourceNode }[] = [];
  for (const [field, value] of Object.entries(node)) {
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) found.push({ field, child: one });
  }
  return found;
}

/** Returns the content of a field, when it is a node. */
export function nodeIn(node: SourceNode | undefined, field: string): SourceNode | undefined {
  const value = node?.[field];
  return isNode(value) ? value : undefined;
}

export function nodesIn(node: SourceNode, field: string): SourceNode[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function isNode(value: unknown): value is SourceNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}
