/** Operations that move actuators, or ask for their state. The gates of `actuators/` decide; the journal sees to "once". */

import type { ActuatorControl } from '../actuators/actuator-control.ts';
import { type ActuatorSettings, type ActuatorState, isOff } from '../actuators/kind/actuator.ts';
import { valueFor } from '../actuators/kind/actuator-value.ts';
import { parseDuration } from '../config/fields/quantity.ts';
import { AgentError, refusal } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import type { OutputAnswer } from './answers.ts';
import type { Asker } from './may-ask.ts';
import {
  memberOf,
  type Operation,
  type OperationBody,
  type OperationsOn,
  objectOf,
  QUESTION,
  textOf,
} from './operation.ts';

export type ActuatorCalls = Pick<
  ActuatorControl,
  'set' | 'release' | 'pulse' | 'check' | 'checkPulse' | 'state' | 'find' | 'read' | 'settings' | 'foundAtStart'
>;

/** Deadline of a movement's turn and of its reply. A movement that has begun has the deadline of its actuator. */
export const MOVEMENT = { deadlineMs: 8_000, goesOn: true } as const;

const EVERYBODY: readonly Asker[] = ['platform', 'site', 'page'];

const NAME: ValueShape = { type: 'string', maxLength: 64, description: 'the actuator, as the configuration calls it' };
const VALUE: ValueShape = { type: ['boolean', 'number', 'string'], maxLength: 1024 };
const FOR: ValueShape = { type: 'string', maxLength: 16, description: 'for how long it holds against rules: 30m, 2h' };
const DURATION: ValueShape = { type: 'number', minimum: 1, maximum: 3_600_000, description: 'ms' };

export const OUTPUT_OPERATIONS: OperationsOn<ActuatorCalls> = {
  setActuator: (actuators) =>
    setMethod(actuators, {
      description: 'Sets an actuator to a value and gives the state read back.',
      askers: EVERYBODY,
      params: objectOf({ name: NAME, value: VALUE, for: FOR }, ['name', 'value']),
      movement: (params) => ({ actuator: textOf(params, 'name'), did: 'set', value: memberOf(params, 'value') }),
      target: (params) => ({ name: textOf(params, 'name'), value: memberOf(params, 'value'), ...timeIn(params) }),
    }),
  releaseActuator: (actuators) => ({
    description:
      'Takes back what an operator has set, and ends a pulse: rules, or the state for the start, apply again.',
    params: objectOf({ name: NAME }),
    askers: EVERYBODY,
    movement: (params) => ({ actuator: textOf(params, 'name'), did: 'released' }),
    effect: 'set',
    // Allowed under lockout: an output that would switch on after the release waits for the end of the lockout.
    moves: false,
    ...MOVEMENT,
    run: async (params) => stateAsJson(await actuators.release(textOf(params, 'name'))),
  }),
  getActuator: (actuators) => ({
    ...QUESTION,
    description:
      'The state of an actuator, read from the hardware where it can be asked, and why it is so: its slots, the highest first.',
    params: objectOf({ name: NAME }),
    askers: ['platform', 'viewer'],
    run: async (params, { signal }) => {
      const name = textOf(params, 'name');
      const state = stateAsJson(await actuators.read(name, signal));
      const { why = '', slots = [], silent } = actuators.find(name)?.reason ?? {};
      return { ...state, why, slots, silent };
    },
  }),
  pulse: (actuators) =>
    pulseMethod(actuators, {
      description: 'Switches an actuator on for a time, once.',
      params: objectOf({ name: NAME, durationMs: DURATION }),
      target: (params) => ({ name: textOf(params, 'name'), durationMs: Number(memberOf(params, 'durationMs')) }),
    }),
  toggle: (actuators) => toggleMethod(actuators),
};

/** Returns the writer whose value an output holds. A person on the page counts as on site, except under lockout. */
function writerOf(asker: Asker): 'rpc' | 'local' {
  return asker === 'platform' ? 'rpc' : 'local';
}

/** Form of a method that moves an output; `target` reads the output and the value from its params. */
type MethodForm<Target> = Pick<Operation, 'description' | 'params' | 'askers' | 'movement'> & {
  readonly target: (params: JsonValue) => Target;
};

interface MovementForm<Target> extends MethodForm<Target>, Pick<Operation, 'effect' | 'moves' | 'understood'> {
  readonly check: (target: Target, by: 'rpc' | 'local') => unknown;
  readonly move: (target: Target, by: 'rpc' | 'local', signal: AbortSignal) => Promise<ActuatorState>;
}

function movement<Target>({ target, check, move, ...method }: MovementForm<Target>): OperationBody<OutputAnswer> {
  return {
    ...method,
    ...MOVEMENT,
    prepare: (params, asker) => void check(target(params), writerOf(asker)),
    run: async (params, { asker, signal }) => stateAsJson(await move(target(params), writerOf(asker), signal)),
  };
}

/** Params with another value: a member `value`, the panel's `enabled`, or by itself. */
function withValue(params: JsonValue, toValue: (value: JsonValue) => JsonValue): JsonValue {
  if (!isJsonObject(params)) return toValue(params);
  const member = ['value', 'enabled'].find((name) => Object.hasOwn(params, name));
  return member === undefined ? params : { ...params, [member]: toValue(params[member] ?? null) };
}

/** @throws AgentError `actuators/bad-time` (drop). */
function timeIn(params: JsonValue): { readonly forMs?: number } {
  if (!isJsonObject(params) || params.for === undefined) return {};
  const forMs = parseDuration(textOf(params, 'for'));
  if (forMs === undefined || forMs === 0) throw refusal('actuators/bad-time', 'for is a time, as 30m or 2h');
  return { forMs };
}

type SetTarget = { readonly name: string; readonly value: JsonValue; readonly forMs?: number };

export function setMethod(actuators: ActuatorCalls, form: MethodForm<SetTarget>): OperationBody<OutputAnswer> {
  const target = (params: JsonValue): SetTarget => {
    const { name, value, ...time } = form.target(params);
    return { name, value: valueFor(actuators.settings(name), value) ?? value, ...time };
  };
  const switchesOff = (params: JsonValue): boolean => isOff(target(params).value);
  return movement({
    ...form,
    target,
    understood: (params) =>
      withValue(params, (value) => valueFor(actuators.settings(form.target(params).name), value) ?? value),
    // Off twice is off: it waits for no journal, and no lockout holds it up.
    effect: (params) => (switchesOff(params) || actuators.settings(target(params).name).idempotent ? 'set' : 'move'),
    moves: (params) => !switchesOff(params),
    check: ({ name, value }, by) => actuators.check(name, value, by),
    move: ({ name, value, ...time }, by, signal) => actuators.set(name, value, { by, ...time }, signal),
  });
}

export function pulseMethod(
  actuators: ActuatorCalls,
  form: MethodForm<{ readonly name: string; readonly durationMs: number }>,
): OperationBody<OutputAnswer> {
  return movement({
    ...form,
    effect: 'move',
    moves: true,
    check: ({ name, durationMs }, by) => actuators.checkPulse(name, durationMs, by),
    move: ({ name, durationMs }, by, signal) => actuators.pulse(name, { durationMs, by }, signal),
  });
}

/**
 * A toggle notes what it was and what it will be: after a crash the hardware itself can tell which of the two came true, but for what the stop
 * hook may have set meanwhile. Without the note it does nothing, not even off: asked once more, it would switch on.
 */
function toggleMethod(actuators: ActuatorCalls): OperationBody<OutputAnswer> {
  return {
    description: 'Switches an actuator on when it is off, and off when it is on.',
    params: objectOf({ name: NAME }),
    effect: 'move',
    moves: (params) => actuators.state(textOf(params, 'name')).value !== true,
    ...MOVEMENT,
    prepare: (params, asker) => {
      const name = textOf(params, 'name');
      const { value, desired, pulsing } = actuators.state(name);
      if (typeof value !== 'boolean')
        throw new AgentError('rpc/cannot-toggle', `${name} is neither on nor off, or its state is not known`, {
          recovery: 'drop',
        });
      actuators.check(name, !value, writerOf(asker));
      // True for an output that is on and has to be switched off after any end.
      const isMarked = value && (pulsing || desired === false);
      return { from: value, to: !value, ...(isMarked && { marked: true }) };
    },
    run: async (params, { asker, note, signal }) =>
      stateAsJson(await actuators.set(textOf(params, 'name'), note?.to === true, { by: writerOf(asker) }, signal)),
    recover: (note, params) => {
      const found = actuators.foundAtStart(textOf(params, 'name'));
      if (typeof found !== 'boolean' || typeof note.to !== 'boolean') return undefined;
      if (setByHook(actuators.settings(textOf(params, 'name')), note).includes(found)) return undefined;
      // Its safe state for the start may have been set since.
      return { ...stateAsJson(actuators.state(textOf(params, 'name'))), interrupted: true, moved: found === note.to };
    },
  };
}

/** Returns what the stop hook sets after any end: what is declared, and off for what was left to be switched off. */
function setByHook({ safe, limits }: ActuatorSettings, note: JsonObject): readonly unknown[] {
  return [safe.stop, safe.crash, ...(limits.maxOnMs !== undefined || note.marked === true ? [false] : [])];
}

export function stateAsJson({ name, value, by, pulsing, fault, isUnproven }: ActuatorState): OutputAnswer {
  const proven = isUnproven === true ? false : undefined;
  return { name, value: value ?? null, by, pulsing: pulsing || undefined, fault, proven };
}
