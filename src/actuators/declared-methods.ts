/** Methods that the configuration declares for one actuator or a panel, and those that dashboards call by their own names (WIDGETS.md). */
import type { RpcConfig, RpcMethodConfig } from '../config/schema/agent-config.ts';
import { refusal, retryable } from '../errors/agent-error.ts';
import { memberOf, type Operation, type OperationBody, objectOf, QUESTION, textOf } from '../operations/operation.ts';
import { type ActuatorCalls, MOVEMENT, pulseMethod, setMethod } from '../operations/output-operations.ts';
import { READ_NAMES, SET_NAMES } from '../operations/widget-names.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import type { ValueShape } from '../values/value-shape.ts';
import { type ActuatorSettings, type ActuatorValue, inWords, isActive, shapeOfValue } from './kind/actuator.ts';
import { takenBy } from './kind/actuator-value.ts';

const PIN: ValueShape = { type: ['integer', 'string'], maxLength: 3, description: 'a pin of the panel' };

/**
 * Those entries of the configuration that are methods of their own for one actuator of `all`, which are those that are switched off as well: to
 * call for one of these is answered as for one that is not there.
 */
export function declaredActuatorMethods(
  configs: RpcConfig['methods'],
  all: readonly ActuatorSettings[],
  actuators: ActuatorCalls,
): readonly Operation[] {
  return Object.entries(configs).flatMap(([name, config]) => {
    if (config.pins !== undefined)
      return [{ name, ...panelMethod(config, new Map(Object.entries(config.pins)), actuators), isDeclared: true }];
    const settings = all.find((one) => one.name === config.actuator);
    return settings === undefined ? [] : [{ name, ...declaredMethod(config, settings, actuators), isDeclared: true }];
  });
}

function declaredMethod(config: RpcMethodConfig, settings: ActuatorSettings, actuators: ActuatorCalls): OperationBody {
  const { name } = settings;
  const { pulseMs: durationMs, value } = config;
  if (config.read) return stateMethod(config, name, actuators);
  if (durationMs !== undefined) {
    const { description = `Switches ${name} on for ${durationMs} ms, once.`, params = {} } = config;
    return pulseMethod(actuators, { description, params, target: () => ({ name, durationMs }) });
  }
  const description = config.description ?? `Sets ${name}${value === undefined ? '' : ` to ${inWords(value)}`}.`;
  const params = config.params ?? (value === undefined ? bareOrWrapped(settings) : {});
  return setMethod(actuators, { description, params, target: (given) => ({ name, value: value ?? bareValue(given) }) });
}

type ReadConfig = Pick<RpcMethodConfig, 'description' | 'deadlineMs'>;

/** Gives the value alone; a value that nobody knows is a fault. */
function stateMethod({ description, deadlineMs }: ReadConfig, name: string, actuators: ActuatorCalls): OperationBody {
  return {
    ...QUESTION,
    description: description ?? `The value of ${name} alone.`,
    params: {},
    deadlineMs,
    bare: true,
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
function panelMethod(
  config: RpcMethodConfig,
  pins: ReadonlyMap<string, string>,
  actuators: ActuatorCalls,
): OperationBody {
  const { read, description, deadlineMs } = config;
  const statesOf = async (signal: AbortSignal): Promise<JsonObject> =>
    Object.fromEntries(
      await Promise.all(
        [...pins].map(
          async ([pin, name]) =>
            [pin, isActive((await presentValue(name, actuators, signal)) as ActuatorValue)] as const,
        ),
      ),
    );
  if (read)
    return {
      ...QUESTION,
      description: description ?? 'The outputs of the panel, by pin.',
      params: {},
      deadlineMs,
      bare: true,
      run: (_params, { signal }) => statesOf(signal),
    };
  const set = setMethod(actuators, {
    description: description ?? 'Sets an output of the panel by its pin.',
    params: objectOf({ pin: PIN, enabled: { type: ['boolean', 'number', 'string'] } }),
    target: (params) => {
      const pin = textOf(params, 'pin');
      const name = pins.get(pin);
      if (name === undefined)
        throw refusal(
          'rpc/unknown-pin',
          `the panel has no pin ${pin.slice(0, 20)}, only ${[...pins.keys()].join(', ')}`,
        );
      return { name, value: memberOf(params, 'enabled') };
    },
  });
  return {
    ...set,
    bare: true,
    run: async (params, call) => {
      await set.run(params, call);
      return await statesOf(call.signal);
    },
  };
}

/**
 * The widgets' default names for the only output of a device, as far as nobody has declared a method of that name (WIDGETS.md).
 */
export function widgetMethods(
  declared: RpcConfig['methods'],
  outputs: readonly ActuatorSettings[],
): RpcConfig['methods'] {
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
  return {
    description: takenBy(settings),
    type: ['boolean', 'number', 'string', 'object'],
    ...value,
    properties: { value },
  };
}

/** Dashboards send a bare value; scripts send `{value}`. Anything else is given to the actuator, which names it in its refusal. */
function bareValue(params: JsonValue): JsonValue {
  return isJsonObject(params) && Object.hasOwn(params, 'value') ? memberOf(params, 'value') : params;
}
