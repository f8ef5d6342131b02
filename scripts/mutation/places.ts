/**
 * Every place of a source file where a rule can be turned off, and how. The operators are few and fixed, chosen so that most of what
 * they make can be noticed from outside: nothing is changed in texts, types, errors' words and log lines, nor in conditions that decide
 * only about a log line; no loop is made endless, no pause is taken out.
 *
 *   condition    the test of if, ?: and loops: negated, always, never (loops: only never)
 *   logical      one side of && and || left out, or the one made the other
 *   comparison   turned round; < and <= (> and >=) exchanged, where it is not about times
 *   return       true for false, the opposite of what is compared, undefined instead of anything else
 *   await        an awaited call that stands alone is left out
 *   constant     true for false, a number one higher (decimal ones past ten: twice as high)
 */
import {
  anotherNumber,
  isTruth,
  NEIGHBOUR,
  negated,
  OPPOSITE,
  returnedInstead,
  textOf,
  withOperator,
  withoutOneSide,
} from './operators.ts';
import { childrenOf, nodeIn, nodesIn, parseSource, type SourceNode } from './source-tree.ts';

export type Operator = 'condition' | 'logical' | 'comparison' | 'return' | 'await' | 'constant';

/** An expression that can be changed; `start` and `end` are offsets into the file's text. */
export interface Place {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly changes: readonly Change[];
}

export interface Change {
  readonly operator: Operator;
  /** Range that is replaced: the place's own, or for a left-out call its whole statement. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Where a node hangs. */
interface Position {
  readonly parents: readonly SourceNode[];
  readonly field: string;
  /** The loop whose body it is in, in the same function. */
  readonly loop: SourceNode | undefined;
  /** In the test of a loop, which may get stricter, never looser. */
  readonly inLoopTest: boolean;
}

const LOOP = /^(DoWhile|While|For|ForOf|ForIn)Statement$/;
const FUNCTION = /Function/;
const LOG_CALL = /(^|[.#])log\??\.(trace|debug|info|warn|error|fatal)$/;
const PAUSE = /(^|[.#])(sleep|delay)$/;
/** A millisecond more or less of a clock is no rule. */
const TIME = /Ms\b|Seconds\b|\b(now|elapsed|since)\b/;

export function placesIn(text: string): Place[] {
  const places: Place[] = [];
  const visit = (node: SourceNode, position: Position): void => {
    const { parents, loop, inLoopTest } = position;
    if (isOutOfBounds(node, position, text)) return;
    const changes = changesOf(node, position, text);
    const line = text.slice(0, node.start).split('\n').length;
    if (changes.length > 0) places.push({ start: node.start, end: node.end, line, changes });
    for (const { field, child } of childrenOf(node)) {
      const isLoop = LOOP.test(node.type);
      visit(child, {
        parents: [node, ...parents],
        field,
        loop: FUNCTION.test(node.type) ? undefined : isLoop && field === 'body' ? node : loop,
        inLoopTest: !FUNCTION.test(node.type) && (inLoopTest || (isLoop && field === 'test')),
      });
    }
  };
  visit(parseSource(text), { parents: [], field: '', loop: undefined, inLoopTest: false });
  return places;
}

/** Types, names, texts and words for people: nothing in there is a rule. */
function isOutOfBounds(node: SourceNode, { parents: [parent], field }: Position, text: string): boolean {
  if (/^TS(?!AsExpression|SatisfiesExpression|NonNullExpression)/.test(node.type)) return true;
  if (/^(ImportDeclaration|TemplateLiteral)$/.test(node.type)) return true;
  if (field === 'key' && parent?.computed !== true) return true;
  if (field === 'test' && parent !== undefined && decidesOnlyLogging(parent, text)) return true;
  if (node.type === 'NewExpression') return /Error$/.test(textOf(nodeIn(node, 'callee'), text));
  return isLogCall(node, text);
}

function changesOf(node: SourceNode, position: Position, text: string): Change[] {
  const { parents, field, inLoopTest } = position;
  const [parent, grandparent] = parents;
  const changes: Change[] = [];
  const change = (operator: Operator, ...becomes: readonly string[]): void => {
    changes.push(...becomes.map((one) => ({ operator, start: node.start, end: node.end, text: one })));
  };
  const isTest =
    field === 'test' && parent !== undefined && parent.type !== 'SwitchCase' && typeof node.value !== 'boolean';
  const isReturned = parent?.type === 'ReturnStatement';
  if (isTest && inLoopTest) change('condition', 'false');
  else if (isTest && grandparent?.type === 'SpreadElement') change('condition', ...withoutSpread(parent));
  else if (isTest) change('condition', negated(node, text), 'true', 'false');
  if (isReturned) change('return', ...returnedInstead(node, text));
  if (node.type === 'LogicalExpression' && !inLoopTest) change('logical', ...withoutOneSide(node, text));
  if (node.type === 'BinaryExpression') {
    const operator = String(node.operator);
    const isDone = isTest || (isReturned && isTruth(node));
    if (!isDone && !inLoopTest && OPPOSITE[operator] !== undefined) change('comparison', negated(node, text));
    const neighbour = NEIGHBOUR[operator];
    if (neighbour !== undefined && !TIME.test(textOf(node, text)))
      change('comparison', withOperator(node, neighbour, text));
  }
  if (typeof node.value === 'number' || typeof node.value === 'bigint')
    change('constant', anotherNumber(textOf(node, text)));
  if (typeof node.value === 'boolean' && !isReturned && field !== 'test') change('constant', String(!node.value));
  if (node.type === 'AwaitExpression' && parent?.type === 'ExpressionStatement' && canBeLeftOut(node, position, text))
    changes.push({ operator: 'await', start: parent.start, end: parent.end, text: ';' });
  return changes;
}

/** `...(x === undefined ? {} : { x })` leaves a field out; that it is there with the value undefined instead is the types' concern. */
function withoutSpread(choice: SourceNode): string[] {
  const isEmpty = (field: string): boolean => {
    const branch = nodeIn(choice, field);
    return (
      branch !== undefined && nodesIn(branch, 'properties').length === 0 && nodesIn(branch, 'elements').length === 0
    );
  };
  return isEmpty('consequent') ? ['true'] : isEmpty('alternate') ? ['false'] : ['true', 'false'];
}

/** Not a log call, not a pause, not what alone makes a loop give way to others. */
function canBeLeftOut(node: SourceNode, { loop }: Position, text: string): boolean {
  const call = nodeIn(node, 'argument');
  if (call?.type !== 'CallExpression' || isLogCall(call, text) || PAUSE.test(textOf(nodeIn(call, 'callee'), text)))
    return false;
  return loop === undefined || loop.await === true || awaitsIn(loop) > 1;
}

function awaitsIn(node: SourceNode): number {
  const here = node.type === 'AwaitExpression' ? 1 : 0;
  return childrenOf(node).reduce((sum, { child }) => sum + (FUNCTION.test(child.type) ? 0 : awaitsIn(child)), here);
}

function isLogCall(node: SourceNode | undefined, text: string): boolean {
  const call = node?.type === 'ChainExpression' ? nodeIn(node, 'expression') : node;
  return call?.type === 'CallExpression' && LOG_CALL.test(textOf(nodeIn(call, 'callee'), text));
}

/** An `if` that does nothing but write log lines. */
function decidesOnlyLogging(statement: SourceNode, text: string): boolean {
  const onlyLogs = (one: SourceNode | undefined): boolean => {
    if (one === undefined) return true;
    if (one.type === 'BlockStatement') return nodesIn(one, 'body').every(onlyLogs);
    if (one.type === 'IfStatement') return onlyLogs(nodeIn(one, 'consequent')) && onlyLogs(nodeIn(one, 'alternate'));
    return isLogCall(one.type === 'ExpressionStatement' ? nodeIn(one, 'expression') : one, text);
  };
  const branches = [nodeIn(statement, 'consequent'), nodeIn(statement, 'alternate')];
  return statement.type === 'IfStatement' && branches.every(onlyLogs);
}
