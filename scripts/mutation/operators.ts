/** Operators: the texts that they write in the place of an expression. */
import { nodeIn, type SourceNode } from './source-tree.ts';

export const OPPOSITE: Readonly<Record<string, string>> = {
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
  '===': '!==',
  '!==': '===',
};
export const NEIGHBOUR: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
/** Up to here a number is a count, and one more can be noticed. */
const GREATEST_COUNT = 10;

/** The opposite, written as a person would where that is short. */
export function negated(node: SourceNode, text: string): string {
  const opposite = node.type === 'BinaryExpression' ? OPPOSITE[String(node.operator)] : undefined;
  return opposite === undefined ? `!(${textOf(node, text)})` : withOperator(node, opposite, text);
}

/** Nothing when it returns nothing anyway. */
export function returnedInstead(node: SourceNode, text: string): string[] {
  const own = textOf(node, text);
  if (typeof node.value === 'boolean') return [String(!node.value)];
  if (isTruth(node)) return [negated(node, text)];
  return ['undefined', 'null'].includes(own) || node.operator === 'void' ? [] : ['undefined'];
}

/** True when an expression can only be true or false. */
export function isTruth(node: SourceNode | undefined): boolean {
  if (node === undefined) return false;
  if (node.type === 'LogicalExpression' && node.operator !== '??')
    return isTruth(nodeIn(node, 'left')) && isTruth(nodeIn(node, 'right'));
  if (node.type === 'BinaryExpression') return /^([<>]=?|[!=]==|in|instanceof)$/.test(String(node.operator));
  return typeof node.value === 'boolean' || (node.type === 'UnaryExpression' && node.operator === '!');
}

/** Returns `a && b` or `a || b` without the one side, without the other, and with the other operator. */
export function withoutOneSide(node: SourceNode, text: string): string[] {
  const [left, right, operator] = [nodeIn(node, 'left'), nodeIn(node, 'right'), String(node.operator)];
  if (operator === '??') return [];
  const found = [`(${textOf(left, text)})`, withOperator(node, operator === '&&' ? '||' : '&&', text)];
  // The sides of a left part of the same kind are left out in their own turn.
  if (left?.type !== 'LogicalExpression' || left.operator !== operator) found.push(`(${textOf(right, text)})`);
  return found;
}

export function withOperator(node: SourceNode, operator: string, text: string): string {
  const [left, right] = [nodeIn(node, 'left'), nodeIn(node, 'right')];
  if (left === undefined || right === undefined) throw new Error(`no operator in ${textOf(node, text)}`);
  const between = text.slice(left.end, right.start).replace(String(node.operator), operator);
  return `(${text.slice(node.start, left.end)}${between}${text.slice(right.start, node.end)})`;
}

export function anotherNumber(own: string): string {
  const suffix = own.endsWith('n') ? 'n' : '';
  const value = Number(own.replaceAll('_', '').replace(/n$/, ''));
  if (!/^[\d_]+n?$/.test(own)) return Number.isInteger(value) ? `(${own} + 1${suffix})` : `(${own} * 2)`;
  return value > GREATEST_COUNT ? `(${own} * 2${suffix})` : `${value + 1}${suffix}`;
}

export function textOf(node: SourceNode | undefined, text: string): string {
  return node === undefined ? '' : text.slice(node.start, node.end);
}
