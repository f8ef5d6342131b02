/** Methods that move actuators, or ask for their state. The gates of `actuators/` decide; the journal sees to "once". */

import type { ActuatorSettings, ActuatorState } from '../actuators/actuator.ts';
import type { ActuatorControl } from '../actuators/actuator-control.ts';
import { AgentError } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';
import type { RpcMethod } from './rpc-method.ts';

export type ActuatorDoor = Pick<ActuatorControl, 'set' | 'pulse' | 'check' | 'checkPulse' | 'state' | 'read' | 'settings' | 'foundAtStart'>;

/** For the answer of the hardware to a question. */
const READ_DEADLINE_MS = 8_000;
/** For its turn, and for its answer: once it has begun, a movement has the deadline of its actuator. */
const MOVEMENT = { deadlineMs: 8_000, goesOn: true } as const;

const NAME: ValueShape = { type: 'string', maxLength: 64, description: 'the actuator, as the configuration calls it' };
const VALUE: ValueShape = { type: ['boolean', 'number', 'string'], maxLength: 1024 };
const DURATION: ValueShape = { type: 'number', minimum: 1, maximum: 3_600_000, description: 'ms' };

/** `setActuator`, `getActuator`, `pulse` and `toggle`, for every actuator there is. */
export function actuatorMethods(actuators: ActuatorDoor): readonly RpcMethod[] {
  return [
    setMethod(actuators, {
      name: 'setActuator',
      description: 'Sets an actuator to a value and gives the state read back.',
      params: { type: 'object', properties: { name: NAME, value: VALUE }, required: ['name', 'value'], additionalProperties: false },
      target: (params) => ({ name: textOf(params, 'name'), value: fieldOf(params, 'value') }),
    }),
    getMethod(actuators, {
      name: 'getActuator',
      description: 'The state of an actuator, read from the hardware where it can be asked.',
      params: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
      target: (params) => textOf(params, 'name'),
    }),
    pulseMethod(actuators, {
      name: 'pulse',
      description: 'Switches an actuator on for a time, once.',
      params: {
        type: 'object',
        properties: { name: NAME, durationMs: DURATION },
        required: ['name', 'durationMs'],
        additionalProperties: false,
      },
      target: (params) => ({ name: textOf(params, 'name'), durationMs: Number(fieldOf(params, 'durationMs')) }),
    }),
    toggleMethod(actuators, {
      name: 'toggle',
      description: 'Switches an actuator on when it is off, and off when it is on.',
      params: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
      target: (params) => textOf(params, 'name'),
    }),
  ];
}

/** What differs between methods of one sort: where the target is taken from. */
export interface MethodForm<Target> {
  readonly name: string;
  readonly description: string;
  readonly params: ValueShape;
  readonly target: (params: JsonValue) => Target;
}

export function setMethod(actuators: ActuatorDoor, form: MethodForm<{ readonly name: string; readonly value: JsonValue }>): RpcMethod {
  const { target, ...named } = form;
  const isOff = (params: JsonValue): boolean => {
    const { value } = target(params);
    return value === false || value === 0 || value === '';
  };
  return {
    ...named,
    // Off twice is off: it waits for no journal, and no lockout holds it up.
    effect: (params) => (isOff(params) || actuators.settings(target(params).name).idempotent ? 'set' : 'move'),
    moves: (params) => !isOff(params),
    ...MOVEMENT,
    prepare: (params) => {
      const { name, value } = target(params);
      actuators.check(name, value, 'rpc');
      return undefined;
    },
    run: async (params, { signal }) => {
      const { name, value } = target(params);
      return stateAsJson(await actuators.set(name, value, { by: 'rpc' }, signal));
    },
  };
}

export function getMethod(actuators: ActuatorDoor, form: MethodForm<string>): RpcMethod {
  const { target, ...named } = form;
  return {
    ...named,
    effect: 'read',
    moves: false,
    deadlineMs: READ_DEADLINE_MS,
    run: async (params, { signal }) => stateAsJson(await actuators.read(target(params), signal)),
  };
}

export function pulseMethod(actuators: ActuatorDoor, form: MethodForm<{ readonly name: string; readonly durationMs: number }>): RpcMethod {
  const { target, ...named } = form;
  return {
    ...named,
    effect: 'move',
    moves: true,
    ...MOVEMENT,
    prepare: (params) => {
      const { name, durationMs } = target(params);
      actuators.checkPulse(name, durationMs, 'rpc');
      return undefined;
    },
    run: async (params, { signal }) => {
      const { name, durationMs } = target(params);
      return stateAsJson(await actuators.pulse(name, { durationMs, by: 'rpc' }, signal));
    },
  };
}

/**
 * A toggle notes what it was and what it will be: after a crash the hardware itself can tell which of the two came true, but for what the stop
 * hook may have set meanwhile. Without the note it does nothing, not even off: asked once more, it would switch on.
 */
export function toggleMethod(actuators: ActuatorDoor, form: MethodForm<string>): RpcMethod {
  const { target, ...named } = form;
  return {
    ...named,
    effect: 'move',
    moves: (params) => actuators.state(target(params)).value !== true,
    ...MOVEMENT,
    prepare: (params) => {
      const name = target(params);
      const { value, desired, pulsing } = actuators.state(name);
      if (typeof value !== 'boolean')
        throw new AgentError('rpc/cannot-toggle', `${name} is neither on nor off, or its state is not known`, { recovery: 'drop' });
      actuators.check(name, !value, 'rpc');
      // It is on, and was to be switched off whatever happens.
      const isMarked = value && (pulsing || desired === false);
      return { from: value, to: !value, ...(isMarked ? { marked: true } : {}) };
    },
    run: async (params, { note, signal }) => stateAsJson(await actuators.set(target(params), note?.to === true, { by: 'rpc' }, signal)),
    recover: (note, params) => {
      const found = actuators.foundAtStart(target(params));
      if (typeof found !== 'boolean' || typeof note.to !== 'boolean') return undefined;
      if (setByHook(actuators.settings(target(params)), note).includes(found)) return undefined;
      // Its safe state for the start may have been set since.
      return { ...stateAsJson(actuators.state(target(params))), interrupted: true, moved: found === note.to };
    },
  };
}

/** What the stop hook sets after whatever end: what is declared, and off for what was left to be switched off. */
function setByHook({ safe, limits }: ActuatorSettings, note: JsonObject): readonly unknown[] {
  return [safe.stop, safe.crash, ...(limits.longestOnMs !== undefined || note.marked === true ? [false] : [])];
}

export function stateAsJson(state: ActuatorState): JsonObject {
  const { name, value, by, pulsing, fault } = state;
  return {
    name,
    value: value ?? null,
    ...(by === undefined ? {} : { by }),
    ...(pulsing ? { pulsing } : {}),
    ...(fault === undefined ? {} : { fault }),
  };
}

function fieldOf(params: JsonValue, key: string): JsonValue {
  return isJsonObject(params) && Object.hasOwn(params, key) ? (params[key] ?? null) : null;
}

function textOf(params: JsonValue, key: string): string {
  return String(fieldOf(params, key));
}
