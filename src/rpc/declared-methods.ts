/** Methods that the configuration declares: a name of its own for one actuator, one sensor or one fixed program. */
import type { ActuatorSettings } from '../actuators/actuator.ts';
import type { RpcMethodConfig } from '../config/agent-config.ts';
import { AgentError } from '../errors.ts';
import { fillArguments } from '../host/argument-template.ts';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonValue } from '../host/json.ts';
import type { RunProgram } from '../host/run-program.ts';
import type { ValueShape } from '../host/value-shape.ts';
import { type ActuatorDoor, pulseMethod, setMethod } from './actuator-methods.ts';
import type { MethodLeave, RpcMethod } from './rpc-method.ts';

export interface DeclaredMethodDeps {
  readonly actuators: ActuatorDoor;
  readonly readSensor: (name: string, signal: AbortSignal) => Promise<JsonValue>;
  readonly clock: Clock;
  readonly runProgram: RunProgram;
}

const ANY: ValueShape = {};
/** Of a program's output, in a reply. */
const MOST_OUTPUT_BYTES = 16 * 1024;

/** Those entries of the configuration that are methods of their own; the others only give leave to built-in ones. */
export function declaredMethods(configs: Readonly<Record<string, RpcMethodConfig>>, deps: DeclaredMethodDeps): readonly RpcMethod[] {
  return Object.entries(configs).flatMap(([name, config]) => methodOf(name, config, deps) ?? []);
}

/** What the configuration allows of every method, built-in or declared. */
export function methodLeaves(configs: Readonly<Record<string, RpcMethodConfig>>): Readonly<Record<string, MethodLeave>> {
  return Object.fromEntries(
    Object.entries(configs).map(([name, { enabled, deadlineMs, mostPerMinute, allowed }]) => [
      name,
      {
        ...{ enabled, deadlineMs },
        ...(mostPerMinute === undefined ? {} : { mostPerMinute }),
        ...(allowed === undefined ? {} : { allowed }),
      },
    ]),
  );
}

function methodOf(name: string, config: RpcMethodConfig, deps: DeclaredMethodDeps): RpcMethod | undefined {
  if (config.actuator !== undefined) return actuatorMethod(name, config, config.actuator, deps);
  if (config.sensor !== undefined) return sensorMethod(name, config, config.sensor, deps);
  return config.command === undefined ? undefined : programMethod(name, config, config.command, deps);
}

function actuatorMethod(name: string, config: RpcMethodConfig, actuator: string, { actuators }: DeclaredMethodDeps): RpcMethod {
  const form = { name, params: config.params ?? ANY };
  if (config.pulseMs !== undefined) {
    const durationMs = config.pulseMs;
    const description = config.description ?? `Switches ${actuator} on for ${durationMs} ms, once.`;
    return pulseMethod(actuators, { ...form, description, target: () => ({ name: actuator, durationMs }) });
  }
  const { value } = config;
  const description = config.description ?? `Sets ${actuator}${value === undefined ? '' : ` to ${String(value)}`}.`;
  const target = (params: JsonValue): { readonly name: string; readonly value: JsonValue } => ({
    name: actuator,
    value: value ?? bareValue(params),
  });
  return setMethod(actuators, {
    ...form,
    params: config.params ?? (value === undefined ? shapeOfValue(actuators.settings(actuator)) : ANY),
    description,
    target,
  });
}

function sensorMethod(name: string, config: RpcMethodConfig, sensor: string, { readSensor }: DeclaredMethodDeps): RpcMethod {
  return {
    name,
    description: config.description ?? `Reads ${sensor} once, now.`,
    params: config.params ?? ANY,
    ...{ effect: 'read', moves: false, deadlineMs: config.deadlineMs },
    run: (_params, { signal }) => readSensor(sensor, signal),
  };
}

function programMethod(
  name: string,
  config: RpcMethodConfig,
  command: NonNullable<RpcMethodConfig['command']>,
  { clock, runProgram }: DeclaredMethodDeps,
): RpcMethod {
  const argumentsOf = (params: JsonValue): readonly string[] => fillArguments(command.arguments, isJsonObject(params) ? params : {});
  return {
    name,
    description: config.description ?? `Runs ${command.program}.`,
    params: config.params ?? ANY,
    // What a program does nobody knows: it counts as a movement unless the configuration says that twice does no harm.
    effect: command.idempotent ? 'set' : 'move',
    moves: true,
    deadlineMs: config.deadlineMs,
    prepare: (params) => {
      argumentsOf(params);
      return undefined;
    },
    run: async (params, { signal }) => {
      const program = {
        file: command.program,
        args: argumentsOf(params),
        deadlineMs: config.deadlineMs,
        mostOutputBytes: MOST_OUTPUT_BYTES,
      };
      const { exitCode, endedBySignal, stdout, stderr, cut } = await runProgram(program, clock, signal);
      if (exitCode === 0) return { stdout, ...(stderr === '' ? {} : { stderr }), ...(cut ? { cut } : {}) };
      const how = exitCode === undefined ? `was ended by ${endedBySignal ?? 'a signal'}` : `ended with ${exitCode}`;
      throw new AgentError('rpc/program-failed', `the program ${how}: ${stderr.trim().slice(0, 200)}`, { recovery: 'drop' });
    },
  };
}

/** What the actuator takes, by itself or as `{value}`. */
function shapeOfValue({ valueType, limits: { min, max } }: ActuatorSettings): ValueShape {
  const range = { ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) };
  return { type: [valueType, 'object'], ...range, properties: { value: { type: valueType, ...range } } };
}

/** Dashboards send a bare value; scripts send `{value}`. */
function bareValue(params: JsonValue): JsonValue {
  return isJsonObject(params) ? (Object.hasOwn(params, 'value') ? (params.value ?? null) : null) : params;
}
