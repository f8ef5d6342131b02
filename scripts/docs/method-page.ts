/** Page of the methods that every agent has, made from the tables that `listMethods` shows. */

import { mayAsk } from '../../src/operations/may-ask.ts';
import { type Operation, operationsOn, TABLE_OPERATIONS } from '../../src/operations/operation.ts';
import { type OperationParts, operationsOf } from '../../src/operations/operation-table.ts';
import type { Effect } from '../../src/rpc/same-command.ts';
import type { ValueShape } from '../../src/values/value-shape.ts';
import type { ReferencePage } from './kind-pages.ts';
import { block, code, page, part, plain, table } from './markdown.ts';

const SAYS =
  'Remote commands of every agent; those of dashboards’ widgets, for an agent with one output, stand on the page of remote commands.';
/** Words for what a second call does, by the effect that the journal goes by. */
const TWICE: Readonly<Record<Effect, string>> = {
  read: 'It asks, and changes nothing.',
  set: 'Twice is the same as once.',
  move: 'It acts each time that it is called; the same command sent again gets the answer of the first.',
};

/** Declarations alone: nothing of an agent is called. */
export function allMethods(): readonly Operation[] {
  const none = new Proxy(
    {},
    { get: (_, name) => () => Promise.reject(new Error(`${String(name)} is not called for a page`)) },
  );
  const parts = new Proxy({}, { get: () => none }) as OperationParts;
  return [...operationsOf(parts), ...operationsOn(TABLE_OPERATIONS, { list: () => null })]
    .filter((one) => mayAsk('platform', one))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function methodPage(): ReferencePage {
  const text = page('Methods', [
    '[Remote commands](../rpc.md) says what comes of them twice, and how to declare your own. `listMethods` gives this page for one agent, with its limits.',
    table(
      ['Method', 'It', 'Moves something', 'Deadline'],
      allMethods().map(({ name, description, moves, deadlineMs }) => [
        `[${code(name)}](#${name.toLowerCase()})`,
        plain(description),
        movesInWords(moves),
        `${deadlineMs / 1_000} s`,
      ]),
    ),
    ...allMethods().map(methodPart),
  ]);
  return { path: 'methods.md', name: 'methods', says: SAYS, text };
}

function methodPart({ name, description, params, effect, bare }: Operation): string | undefined {
  return part(
    name,
    plain(description),
    paramTable(params),
    block('json', JSON.stringify({ method: name, params: exampleOf(name, params) })),
    typeof effect === 'function'
      ? 'Sending it twice is the same as once, but for actuators whose page says otherwise.'
      : TWICE[effect],
    bare === true ? 'The value alone is the reply, as dashboards’ widgets expect it.' : undefined,
  );
}

const movesInWords = (moves: Operation['moves']): string =>
  typeof moves === 'function' ? 'when it switches on' : moves ? 'yes' : 'no';

function paramTable({ properties = {}, required = [] }: ValueShape): string | undefined {
  return table(
    ['Param', 'Takes', 'Needed'],
    Object.entries(properties).map(([name, shape]) => [
      code(name),
      shapeInWords(shape),
      required.includes(name) ? 'yes' : 'no',
    ]),
  );
}

function shapeInWords(shape: ValueShape): string {
  const { description, type, enum: choices, minimum, maximum, maxLength } = shape;
  const types = [type ?? 'any'].flat().join(' or ');
  const words = [
    choices === undefined ? types : choices.map((one) => code(String(one))).join(', '),
    ...(minimum === undefined || maximum === undefined ? [] : [`${minimum} to ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
  ].join(', ');
  return description === undefined ? words : `${words}: ${plain(description)}`;
}

/** Params as somebody may type them; those that are not needed are left out. */
function exampleOf(
  method: string,
  { type, enum: choices, properties, required = [], minimum = 1 }: ValueShape,
): unknown {
  if (choices !== undefined) return choices[0];
  if (properties !== undefined || type === 'object')
    return Object.fromEntries(
      required.map((name) => [
        name,
        EXAMPLES[`${method}.${name}`] ?? EXAMPLES[name] ?? exampleOf(name, properties?.[name] ?? {}),
      ]),
    );
  if (type === 'number' || type === 'integer') return minimum;
  return type === 'string' ? 'text' : {};
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  'readSensor.name': 'roof',
  name: 'pump',
  durationMs: 5_000,
  value: true,
  accessToken: 'the-next-token',
  deviceKey: 'the-new-key',
  deviceSecret: 'the-new-secret',
};
