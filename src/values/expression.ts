/**
 * Expressions of the configuration in the Common Expression Language: one value from others, in steps bounded by the expression's own length. No
 * loops, no patterns, no access to anything but numbers, texts and truths that are given. Every number is a decimal one: `1 / 2` is 0.5.
 * The engine is loaded when the first expression is compiled.
 *
 *   voltage * current · m1.power + m2.power · key("outdoor-temp") > 30 ? 1 : 0 · integral(power) / 1000
 */
import { messageOf } from '../errors/agent-error.ts';

export type ExpressionValue = number | boolean | string;

/** Functions that remember their argument: one place for each call in the expression. */
export interface ExpressionHistory {
  /** Change per second since its argument was new before; NaN at first. */
  rate(value: number, place: number): number;
  /** Change since its argument was new before; NaN at first. */
  difference(value: number, place: number): number;
  /** Sum of value × hours, from before this process, too; NaN until that is known. */
  integral(value: number, place: number): number;
}

export interface Expression {
  /** Keys that it needs, each once. */
  readonly inputs: readonly string[];
  /** Inputs of each call that remembers, by their place in `inputs`. */
  readonly places: readonly (readonly number[])[];
  /** Texts of the sums of those calls that are integrals, by place: the same however they are spaced. */
  readonly integrals: ReadonlyMap<number, string>;
  /** @param values in the order of `inputs`. @throws Error in words, when it cannot be calculated. */
  evaluate(values: readonly ExpressionValue[], history: ExpressionHistory): ExpressionValue;
}

export type CompileExpression = (source: string) => Expression;

/** Node of the engine's syntax tree, as far as it is read. */
interface Node {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

const LIMITS = { maxAstNodes: 200, maxDepth: 32, maxListElements: 32, maxMapEntries: 0, maxCallArguments: 8 };
const MEMORIES = ['rate', 'difference', 'integral'] as const;
/** Magnus formula over water, by Sonntag (1990): -45 to 60 °C. */
const MAGNUS = { a: 17.62, b: 243.12 } as const;

const NUMERIC: Readonly<Record<string, (...values: number[]) => number>> = {
  'abs(double): double': Math.abs,
  'min(double, double): double': Math.min,
  'max(double, double): double': Math.max,
  'round(double): double': toWhole,
  'round(double, double): double': (value, digits) => shifted(toWhole(shifted(value, digits)), -digits) + 0,
  'floor(double): double': Math.floor,
  'ceil(double): double': Math.ceil,
  'sqrt(double): double': Math.sqrt,
  'pow(double, double): double': Math.pow,
  'exp(double): double': Math.exp,
  'ln(double): double': Math.log,
  'log10(double): double': Math.log10,
  'sin(double): double': Math.sin,
  'cos(double): double': Math.cos,
  'atan2(double, double): double': Math.atan2,
  'dewPoint(double, double): double': dewPoint,
};
const CALLS = new Set([
  ...Object.keys(NUMERIC).map((signature) => signature.slice(0, signature.indexOf('('))),
  ...MEMORIES,
]);
const CONVERSIONS = new Set(['string', 'double', 'bool']);
const TEXT_METHODS = new Set(['startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim']);
const FUNCTIONS = [...CALLS, ...CONVERSIONS, 'key'];

/** Loads the engine. The returned function throws Error, in words for people, for what is no expression, or uses what there is not. */
export async function loadExpressions(): Promise<CompileExpression> {
  const { Environment } = await import('@marcbachmann/cel-js');
  let running: ExpressionHistory | undefined;
  const engine = new Environment({ unlistedVariablesAreDyn: true, limits: LIMITS });
  engine.registerOperator('double % double', (a: number, b: number) => a % b);
  for (const [signature, handler] of Object.entries(NUMERIC)) engine.registerFunction(signature, handler);
  for (const memory of MEMORIES) {
    const handler = (value: number, place: number): number => running?.[memory](value, place) ?? Number.NaN;
    engine.registerFunction(`${memory}(double, double): double`, handler);
  }
  return (source) => {
    // The engine's type of a node is a union of sixty, of which few are read here.
    const root = inWords(() => engine.parse(source)).ast as unknown as Node;
    const { inputs, places, integrals, plain } = rewritten(source, root);
    const run = inWords(() => engine.parse(plain));
    return {
      inputs,
      places,
      integrals,
      evaluate: (values, history) => {
        running = history;
        const result: unknown = inWords(() => run(Object.fromEntries(values.map((value, at) => [`i${at}`, value]))));
        if (typeof result === 'number' || typeof result === 'boolean' || typeof result === 'string') return result;
        throw new Error('gives neither a number nor a text nor true or false');
      },
    };
  };
}

/** First line of the engine's message: the others draw the place. */
function inWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(messageOf(error).split('\n')[0], { cause: error });
  }
}

interface Rewritten extends Pick<Expression, 'inputs' | 'places' | 'integrals'> {
  readonly plain: string;
}

/** The expression with `i0`, `i1` … for its keys, decimal numbers for whole ones, and a place for each call that remembers. */
function rewritten(source: string, root: Node): Rewritten {
  const inputs: string[] = [];
  const changes: { readonly start: number; readonly end: number; readonly text: string }[] = [];
  const places: number[][] = [];
  const open: number[][] = [];
  const integrals = new Map<number, string>();
  const useKey = (key: string, { start, end }: Node): void => {
    if (!inputs.includes(key)) inputs.push(key);
    for (const call of open) call.push(inputs.indexOf(key));
    changes.push({ start, end, text: `i${inputs.indexOf(key)}` });
  };
  const visit = (node: Node): void => {
    const key = keyOf(node);
    if (key !== undefined) useKey(key, node);
    else if (node.op === 'value') {
      if (typeof node.args === 'bigint') changes.push({ ...node, text: `${node.args}.0` });
    } else if (node.op === 'call') {
      const [name, args] = node.args as readonly [string, readonly Node[]];
      if (!FUNCTIONS.includes(name)) throw new Error(`there is no function ${name}; there are ${FUNCTIONS.join(', ')}`);
      if (name === 'key') throw new Error('key() takes one name in quotes: key("outdoor-temp")');
      if (MEMORIES.some((memory) => memory === name)) {
        const call: number[] = [];
        changes.push({ start: node.end - 1, end: node.end - 1, text: `, ${places.length}.0` });
        if (name === 'integral') integrals.set(places.length, unspaced(source.slice(args[0]?.start, args[0]?.end)));
        places.push(call);
        open.push(call);
        for (const arg of args) visit(arg);
        open.pop();
      } else for (const arg of args) visit(arg);
    } else if (node.op === 'rcall') {
      const [name, object, args] = node.args as readonly [string, Node, readonly Node[]];
      if (!TEXT_METHODS.has(name))
        throw new Error(`there is no .${name}(); there are .${[...TEXT_METHODS].join('(), .')}()`);
      for (const arg of [object, ...args]) visit(arg);
    } else if (node.op === 'map' || node.op === '[]' || node.op === '.')
      throw new Error('only numbers, texts and true or false can be calculated with');
    else for (const arg of Array.isArray(node.args) ? (node.args as readonly Node[]) : [node.args as Node]) visit(arg);
  };
  visit(root);
  let plain = source;
  for (const { start, end, text } of changes.toSorted((one, other) => other.start - one.start))
    plain = plain.slice(0, start) + text + plain.slice(end);
  return { inputs, places, integrals, plain };
}

/** The text without what stands between its words; texts in quotes as they are. */
function unspaced(source: string): string {
  return source.replaceAll(/("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\s+/g, '$1');
}

/** Key that a node names: `voltage`, `m1.power`, `key("outdoor-temp")`. */
function keyOf(node: Node): string | undefined {
  if (node.op === 'id') return node.args as string;
  if (node.op === '.') {
    const [object, member] = node.args as readonly [Node, string];
    const before = keyOf(object);
    return before === undefined ? undefined : `${before}.${member}`;
  }
  if (node.op !== 'call') return undefined;
  const [name, [arg, ...more]] = node.args as readonly [string, readonly Node[]];
  return name === 'key' && arg?.op === 'value' && typeof arg.args === 'string' && more.length === 0
    ? arg.args
    : undefined;
}

/** Rounds half away from zero, as `round` among the report rules does. */
function toWhole(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value)) + 0;
}

/** Value × 10^places, by its digits: 1.005 shifted by 2 is 100.5. */
function shifted(value: number, places: number): number {
  const [digits, exponent = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(exponent) + places}`);
}

/** Temperature in °C at which water condenses. @param humidity relative, in percent. */
function dewPoint(temperature: number, humidity: number): number {
  const { a, b } = MAGNUS;
  const gamma = Math.log(humidity / 100) + (a * temperature) / (b + temperature);
  return (b * gamma) / (a - gamma);
}
