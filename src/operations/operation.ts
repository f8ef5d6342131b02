/** Row of the table of operations: what may be asked of the agent. Built-in and declared ones are both made of these. */
import type { Effect } from '../rpc/same-command.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import type { Answers, OperationName } from './answers.ts';
import type { Asker } from './may-ask.ts';

export interface Operation<Answer = JsonValue> {
  readonly name: string;
  readonly description: string;
  readonly params: ValueShape;
  /** Returns the params in their usual spelling, for the checks before a run: `on` and `true` are the same value. */
  readonly understood?: (params: JsonValue) => JsonValue;
  /** Decides between acting at once and writing the intent first. */
  readonly effect: Effect | ((params: JsonValue) => Effect);
  /** True when it can set something in motion, and is therefore refused under lockout; switching off is not. */
  readonly moves: boolean | ((params: JsonValue) => boolean);
  readonly deadlineMs: number;
  /** Those who may ask for it; the platform alone where it is left out. */
  readonly askers?: readonly Asker[];
  /** Returns the movement that is asked for; the timeline tells it. */
  readonly movement?: (params: JsonValue) => AskedMovement;
  /** True where the reply is the bare result, as dashboards expect a state. */
  readonly bare?: boolean;
  /** True for a method of the configuration, which widgets call: a fault is answered as text that is no JSON, so that the widget's call fails. */
  readonly isDeclared?: boolean;
  /** True when a run that has begun by the deadline goes on, is answered as under way, and ends by itself; others end with the signal. */
  readonly goesOn?: boolean;
  /** Before anything is written: refuses by throwing, or notes what `recover` will need. */
  readonly prepare?: (params: JsonValue, asker: Asker) => JsonObject | undefined;
  readonly run: (params: JsonValue, call: OperationCall) => Promise<Answer> | Answer;
  /** After a crash between intent and reply: the result when it can be told what has happened, undefined when it cannot. Moves nothing. */
  readonly recover?: (note: JsonObject, params: JsonValue) => Promise<JsonValue | undefined> | JsonValue | undefined;
  /** True where it tells events until it ends by itself or its caller cancels; its answer is null. */
  readonly isStream?: boolean;
  /** Runs once the reply is on its way, for methods that end the process. */
  readonly afterReply?: () => void;
}

export interface AskedMovement {
  readonly actuator: string;
  /** Verb in the past tense. */
  readonly did: string;
  readonly value?: JsonValue;
}

export interface OperationCall {
  readonly asker: Asker;
  readonly note: JsonObject | undefined;
  /** Aborts at the method's deadline; of a stream when its caller cancels. */
  readonly signal: AbortSignal;
  /** Given to a stream. */
  readonly emit?: Emit;
}

/** Sends an event of a stream; resolves when the caller has room for the next one. */
export type Emit = (event: JsonValue) => Promise<void>;

export type OperationBody<Answer = JsonValue> = Omit<Operation<Answer>, 'name'>;

/** Operations by name: each is made when the agent joins it to what it works on, and is held to the type of its answer. */
export type OperationsOn<Part> = {
  readonly [Name in OperationName]?: (part: Part) => OperationBody<Answers[Name]>;
};

export function operationsOn<Part>(operations: OperationsOn<Part>, part: Part): readonly Operation[] {
  // Each answer is JSON; only an interface among them is not assignable to an index signature.
  const declared = Object.entries(operations) as unknown as [string, (part: Part) => OperationBody][];
  return declared.map(([name, body]) => ({ name, ...body(part) }));
}

/** A question without parameters; moves nothing. */
export const QUESTION = {
  params: { description: 'nothing' },
  effect: 'read',
  moves: false,
  deadlineMs: 8_000,
} as const;

/** A change that a person at the device asks for, and nobody else; moves nothing. */
export const SITE_CHANGE = { ...QUESTION, effect: 'set', askers: ['site'] } as const;

/** Methods on the method table itself. */
export const TABLE_OPERATIONS: OperationsOn<{ readonly list: () => JsonValue }> = {
  listMethods: ({ list }) => ({
    ...QUESTION,
    description: 'What can be called here, with the shape of params and what of it is allowed.',
    params: {},
    deadlineMs: 1_000,
    run: list,
  }),
};

/** Params that are an object with these members and no others. @param required Names of the members that are needed; by default all. */
export function objectOf(
  properties: NonNullable<ValueShape['properties']>,
  required: readonly string[] = Object.keys(properties),
): ValueShape {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const SENSOR_NAME: ValueShape = {
  type: 'string',
  maxLength: 64,
  description: 'the sensor, as the configuration calls it',
};

/** Returns a member of params whose shape was checked; null where there is none. */
export function memberOf(params: JsonValue, name: string): JsonValue {
  return isJsonObject(params) && Object.hasOwn(params, name) ? (params[name] ?? null) : null;
}

/** Returns a member of params as text; empty where there is none. */
export function textOf(params: JsonValue, name: string): string {
  return String(memberOf(params, name) ?? '');
}
