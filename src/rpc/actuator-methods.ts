/** Methods that move actuators, or ask for their state. The gates of `actuators/` decide; the journal sees to "once". */

import type { ActuatorState } from '../actuators/actuator.ts';
import type { ActuatorControl } from '../actuators/actuator-control.ts';
import { AgentError } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';
import type { RpcMethod } from './rpc-method.ts';

export type ActuatorDoor = Pick<ActuatorControl, 'set' | 'pulse' | 'check' | 'checkPulse' | 'state' | 'read' | 'settings' | 'foundAtStart'>;

/** A movement has its own, shorter deadline; this one covers the wait for its turn. */
const MOVE_DEADLINE_MS = 8_000;

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
  return {
    ...named,
    effect: (params) => (actuators.settings(target(params).name).idempotent ? 'set' : 'move'),
    moves: true,
    deadlineMs: MOVE_DEADLINE_MS,
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
    deadlineMs: MOVE_DEADLINE_MS,
    run: async (params, { signal }) => stateAsJson(await actuators.read(target(params), signal)),
  };
}

export function pulseMethod(actuators: ActuatorDoor, form: MethodForm<{ readonly name: string; readonly durationMs: number }>): RpcMethod {
  const { target, ...named } = form;
  return {
    ...named,
    effect: 'move',
    moves: true,
    deadlineMs: MOVE_DEADLINE_MS,
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

/** A toggle notes what it was and what it will be: after a crash the hardware itself can tell which of the two came true. */
export function toggleMethod(actuators: ActuatorDoor, form: MethodForm<string>): RpcMethod {
  const { target, ...named } = form;
  return {
    ...named,
    effect: 'move',
    moves: true,
    deadlineMs: MOVE_DEADLINE_MS,
    prepare: (params) => {
      const name = target(params);
      const { value } = actuators.state(name);
      if (typeof value !== 'boolean')
        throw new AgentError('rpc/cannot-toggle', `${name} is neither on nor off, or its state is not known`, { recovery: 'drop' });
      actuators.check(name, !value, 'rpc');
      return { from: value, to: !value };
    },
    run: async (params, { note, signal }) => stateAsJson(await actuators.set(target(params), note?.to === true, { by: 'rpc' }, signal)),
    recover: (note, params) => {
      const found = actuators.foundAtStart(target(params));
      if (typeof found !== 'boolean' || typeof note.to !== 'boolean') return undefined;
      return { name: target(params), value: found, interrupted: true, moved: found === note.to };
    },
  };
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
