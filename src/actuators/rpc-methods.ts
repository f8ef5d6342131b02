/** Methods that move actuators, or ask for their state. The gates of `actuators/` decide; the journal sees to "once". */
import type { RpcConfig, RpcMethodConfig } from '../config/agent-config.ts';
import { AgentError, refusal, retryable } from '../errors.ts';
import { given } from '../host/given.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';
import { type MethodsOn, memberOf, objectOf, QUESTION, type RpcMethod, textOf } from '../rpc/rpc-method.ts';
import { READ_NAMES, SET_NAMES } from '../rpc/widget-names.ts';
import { type ActuatorSettings, type ActuatorState, type ActuatorValue, isActive, isOff, shapeOfValue } from './actuator.ts';
import type { ActuatorControl } from './actuator-control.ts';
import { takenBy, valueFor } from './actuator-value.ts';

export type ActuatorCalls = Pick<
  ActuatorControl,
  'set' | 'pulse' | 'check' | 'checkPulse' | 'state' | 'read' | 'settings' | 'foundAtStart'
>;

type MethodBody = Omit<RpcMethod, 'name'>;

/** For its turn, and for its answer: once it has begun, a movement has the deadline of its actuator. */
const MOVEMENT = { deadlineMs: 8_000, goesOn: true } as const;

const NAME: ValueShape = { type: 'string', maxLength: 64, description: 'the actuator, as the configuration calls it' };
const VALUE: ValueShape = { type: ['boolean', 'number', 'string'], maxLength: 1024 };
const PIN: ValueShape = { type: ['integer', 'string'], maxLength: 3, description: 'a pin of the panel' };
const DURATION: ValueShape = { type: 'number', minimum: 1, maximum: 3_600_000, description: 'ms' };

export const ACTUATOR_METHODS: MethodsOn<ActuatorCalls> = {
  setActuator: (actuators) =>
    setMethod(actuators, {
      description: 'Sets an actuator to a value and gives the state read back.',
      params: objectOf({ name: NAME, value: VALUE }),
      target: (params) => ({ name: textOf(params, 'name'), value: memberOf(params, 'value') }),
    }),
  getActuator: (actuators) => ({
    ...QUESTION,
    description: 'The state of an actuator, read from the hardware where it can be asked.',
    params: objectOf({ name: NAME }),
    run: async (params, { signal }) => stateAsJson(await actuators.read(textOf(params, 'name'), signal)),
  }),
  pulse: (actuators) =>
    pulseMethod(actuators, {
      description: 'Switches an actuator on for a time, once.',
      params: objectOf({ name: NAME, durationMs: DURATION }),
      target: (params) => ({ name: textOf(params, 'name'), durationMs: Number(memberOf(params, 'durationMs')) }),
    }),
  toggle: (actuators) => toggleMethod(actuators),
};

/**
 * Those entries of the configuration that are methods of their own for one actuator of `all`, which are those that are switched off as well: to
 * call for one of these is answered as for one that is not there.
 */
export function declaredActuatorMethods(
  configs: RpcConfig['methods'],
  all: readonly ActuatorSettings[],
  actuators: ActuatorCalls,
): readonly RpcMethod[] {
  return Object.entries(configs).flatMap(([name, config]) => {
    if (config.pins !== undefined) return [{ name, ...panelMethod(config, new Map(Object.entries(config.pins)), actuators) }];
    const settings = all.find((one) => one.name === config.actuator);
    return settings === undefined ? [] : [{ name, ...declaredMethod(config, settings, actuators) }];
  });
}

function declaredMethod(config: RpcMethodConfig, settings: ActuatorSettings, actuators: ActuatorCalls): MethodBody {
  const { name } = settings;
  const { pulseMs: durationMs, value } = config;
  if (config.read) return stateMethod(config, name, actuators);
  if (durationMs !== undefined) {
    const { description = `Switches ${name} on for ${durationMs} ms, once.`, params = {} } = config;
    return pulseMethod(actuators, { description, params, target: () => ({ name, durationMs }) });
  }
  const description = config.description ?? `Sets ${name}${value === undefined ? '' : ` to ${String(value)}`}.`;
  const params = config.params ?? (value === undefined ? bareOrWrapped(settings) : {});
  return setMethod(actuators, { description, params, target: (given) => ({ name, value: value ?? bareValue(given) }) });
}

type ReadConfig = Pick<RpcMethodConfig, 'description' | 'deadlineMs'>;

/** Gives the value alone; a value that nobody knows is a fault. */
function stateMethod({ description, deadlineMs }: ReadConfig, name: string, actuators: ActuatorCalls): MethodBody {
  return {
    ...QUESTION,
    ...{ description: description ?? `The value of ${name} alone.`, params: {}, deadlineMs, bare: true },
    run: (_params, { signal }) => presentValue(name, actuators, signal),
  };
}

/** @throws AgentError `actuators/not-known` (retry). */
async function presentValue(name: string, actuators: ActuatorCalls, signal: AbortSignal): Promise<JsonValue> {
  const { value, fault = 'its hardware was not asked yet' } = await actuators.read(name, signal);
  if (value === undefined) throw retryable('actuators/not-known', `the state of ${name} is not known: ${fault}`);
  return value;
}

/** GPIO panel: the reply of both its calls is the map of all pins (WIDGETS.md). */
function panelMethod(config: RpcMethodConfig, pins: ReadonlyMap<string, string>, actuators: ActuatorCalls): MethodBody {
  const { read, description, deadlineMs } = config;
  const statesOf = async (signal: AbortSignal): Promise<JsonObject> =>
    Object.fromEntries(
      await Promise.all(
        [...pins].map(async ([pin, name]) => [pin, isActive((await presentValue(name, actuators, signal)) as ActuatorValue)] as const),
      ),
    );
  if (read)
    return {
      ...QUESTION,
      ...{ description: description ?? 'The outputs of the panel, by pin.', params: {}, deadlineMs, bare: true },
      run: (_params, { signal }) => statesOf(signal),
    };
  const set = setMethod(actuators, {
    description: description ?? 'Sets an output of the panel by its pin.',
    params: objectOf({ pin: PIN, enabled: { type: ['boolean', 'number', 'string'] } }),
    target: (params) => {
      const pin = textOf(params, 'pin');
      const name = pins.get(pin);
      if (name === undefined)
        throw refusal('rpc/unknown-pin', `the panel has no pin ${pin.slice(0, 20)}, only ${[...pins.keys()].join(', ')}`);
      return { name, value: memberOf(params, 'enabled') };
    },
  });
  return {
    ...{ ...set, bare: true },
    run: async (params, call) => {
      await set.run(params, call);
      return await statesOf(call.signal);
    },
  };
}

/**
 * The widgets' default names for the only output of a device, as far as nobody has declared a method of that name (WIDGETS.md).
 */
export function widgetMethods(declared: RpcConfig['methods'], outputs: readonly ActuatorSettings[]): RpcConfig['methods'] {
  const [only, ...others] = outputs.filter(({ valueType }) => valueType !== 'string');
  if (only === undefined || others.length > 0) return declared;
  const common = { enabled: true, actuator: only.name, deadlineMs: MOVEMENT.deadlineMs };
  const reads = READ_NAMES.map((name) => [name, { ...common, read: true }]);
  const sets = SET_NAMES.map((name) => [name, { ...common, read: false }]);
  return { ...(Object.fromEntries([...reads, ...sets]) as RpcConfig['methods']), ...declared };
}

/** Shape of a value by itself or as `{value}`; the actuator itself says what it takes of them. */
function bareOrWrapped(settings: ActuatorSettings): ValueShape {
  const { type: _own, ...value } = shapeOfValue(settings);
  return { description: takenBy(settings), type: ['boolean', 'number', 'string', 'object'], ...value, properties: { value } };
}

/** Dashboards send a bare value; scripts send `{value}`. Anything else is given to the actuator, which names it in its refusal. */
function bareValue(params: JsonValue): JsonValue {
  return isJsonObject(params) && Object.hasOwn(params, 'value') ? memberOf(params, 'value') : params;
}

/** Where the target is taken from differs between methods of one sort. */
type MethodForm<Target> = Pick<RpcMethod, 'description' | 'params'> & { readonly target: (params: JsonValue) => Target };

interface MovementForm<Target> extends MethodForm<Target>, Pick<RpcMethod, 'effect' | 'moves' | 'understood'> {
  readonly check: (target: Target) => unknown;
  readonly move: (target: Target, signal: AbortSignal) => Promise<ActuatorState>;
}

function movement<Target>({ target, check, move, ...method }: MovementForm<Target>): MethodBody {
  return {
    ...{ ...method, ...MOVEMENT },
    prepare: (params) => void check(target(params)),
    run: async (params, { signal }) => stateAsJson(await move(target(params), signal)),
  };
}

/** Params with another value: a member `value`, the panel's `enabled`, or by itself. */
function withValue(params: JsonValue, toValue: (value: JsonValue) => JsonValue): JsonValue {
  if (!isJsonObject(params)) return toValue(params);
  const member = ['value', 'enabled'].find((name) => Object.hasOwn(params, name));
  return member === undefined ? params : { ...params, [member]: toValue(params[member] ?? null) };
}

function setMethod(actuators: ActuatorCalls, form: MethodForm<{ readonly name: string; readonly value: JsonValue }>): MethodBody {
  const target = (params: JsonValue): ReturnType<typeof form.target> => {
    const { name, value } = form.target(params);
    return { name, value: valueFor(actuators.settings(name), value) ?? value };
  };
  const switchesOff = (params: JsonValue): boolean => isOff(target(params).value);
  return movement({
    ...form,
    target,
    understood: (params) => withValue(params, (value) => valueFor(actuators.settings(form.target(params).name), value) ?? value),
    // Off twice is off: it waits for no journal, and no lockout holds it up.
    effect: (params) => (switchesOff(params) || actuators.settings(target(params).name).idempotent ? 'set' : 'move'),
    moves: (params) => !switchesOff(params),
    check: ({ name, value }) => actuators.check(name, value, 'rpc'),
    move: ({ name, value }, signal) => actuators.set(name, value, { by: 'rpc' }, signal),
  });
}

function pulseMethod(actuators: ActuatorCalls, form: MethodForm<{ readonly name: string; readonly durationMs: number }>): MethodBody {
  return movement({
    ...{ ...form, effect: 'move', moves: true },
    check: ({ name, durationMs }) => actuators.checkPulse(name, durationMs, 'rpc'),
    move: ({ name, durationMs }, signal) => actuators.pulse(name, { durationMs, by: 'rpc' }, signal),
  });
}

/**
 * A toggle notes what it was and what it will be: after a crash the hardware itself can tell which of the two came true, but for what the stop
 * hook may have set meanwhile. Without the note it does nothing, not even off: asked once more, it would switch on.
 */
function toggleMethod(actuators: ActuatorCalls): MethodBody {
  return {
    description: 'Switches an actuator on when it is off, and off when it is on.',
    params: objectOf({ name: NAME }),
    effect: 'move',
    moves: (params) => actuators.state(textOf(params, 'name')).value !== true,
    ...MOVEMENT,
    prepare: (params) => {
      const name = textOf(params, 'name');
      const { value, desired, pulsing } = actuators.state(name);
      if (typeof value !== 'boolean')
        throw new AgentError('rpc/cannot-toggle', `${name} is neither on nor off, or its state is not known`, { recovery: 'drop' });
      actuators.check(name, !value, 'rpc');
      // It is on, and was to be switched off whatever happens.
      const isMarked = value && (pulsing || desired === false);
      return { from: value, to: !value, ...(isMarked && { marked: true }) };
    },
    run: async (params, { note, signal }) =>
      stateAsJson(await actuators.set(textOf(params, 'name'), note?.to === true, { by: 'rpc' }, signal)),
    recover: (note, params) => {
      const found = actuators.foundAtStart(textOf(params, 'name'));
      if (typeof found !== 'boolean' || typeof note.to !== 'boolean') return undefined;
      if (setByHook(actuators.settings(textOf(params, 'name')), note).includes(found)) return undefined;
      // Its safe state for the start may have been set since.
      return { ...stateAsJson(actuators.state(textOf(params, 'name'))), interrupted: true, moved: found === note.to };
    },
  };
}

/** What the stop hook sets after whatever end: what is declared, and off for what was left to be switched off. */
function setByHook({ safe, limits }: ActuatorSettings, note: JsonObject): readonly unknown[] {
  return [safe.stop, safe.crash, ...(limits.maxOnMs !== undefined || note.marked === true ? [false] : [])];
}

export function stateAsJson({ name, value, by, pulsing, fault }: ActuatorState): JsonObject {
  return given({ name, value: value ?? null, by, pulsing: pulsing || undefined, fault });
}
