/**
 * Commands of one device alone: of an attached one, or the gateway's own. A method of the configuration belongs to the device whose actuators it
 * moves, or whose sensor it reads; programs are the gateway's.
 */
import { actuatorSettings } from '../actuators/actuator-settings.ts';
import { declaredActuatorMethods, widgetMethods } from '../actuators/declared-methods.ts';
import type { OwnActuators } from '../actuators/own-actuators.ts';
import { sentReading } from '../config/keys/sent-reading.ts';
import type { AgentConfig, RpcConfig, RpcMethodConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import type { Operation } from '../operations/operation.ts';
import { type OperationParts, operationsOf } from '../operations/operation-table.ts';
import { declaredSensorMethods, type ReadNow, type SentReadings } from '../operations/sensor-operations.ts';
import { statusOfDevice } from '../operations/status-operations.ts';
import { type LineMachine, lineMethods } from '../rpc/line-methods.ts';
import { programMethods } from '../rpc/program-methods.ts';
import type { JsonObject } from '../values/json.ts';

type Configured = Pick<AgentConfig, 'actuators' | 'sensors' | 'rpc'>;

export interface OwnCommandsDeps {
  /** Actuators and methods are those of the start; a sensor may become another device's at any time. */
  readonly config: () => Configured;
  readonly actuators: OwnActuators;
  readonly sampler: ReadNow;
}

export interface CommandedDevice extends OwnCommandsDeps {
  /** Its slot in the configuration; undefined of the gateway. */
  readonly slot: string | undefined;
  /** Parts of it besides its outputs and sensors. */
  readonly parts: Omit<Partial<OperationParts>, 'actuators' | 'sensors'>;
  /** Answers `getStatus` of an attached device. */
  readonly status?: () => JsonObject;
  /** Machine that its programs run on; undefined of a device that has none. */
  readonly runsOn?: Parameters<typeof programMethods>[1];
  /** Serial ports by which commands reach the devices of its sensors. */
  readonly tellsOn?: LineMachine;
}

/**
 * Entries of the configuration that hold for a device's methods: those that belong to it, and the permissions of methods that all devices have.
 *
 * @param device slot in the configuration; undefined for the gateway.
 */
export function ownMethodConfigs({ rpc, actuators, sensors }: Configured, device?: string): RpcConfig['methods'] {
  const slots = new Map([...actuators, ...sensors].map(({ name, device: slot }) => [name, slot]));
  const isOwn = ({ actuator, pins, sensor, command }: RpcMethodConfig): boolean => {
    const named = [actuator, sensor, ...Object.values(pins ?? {})].filter((name) => name !== undefined);
    return named.every((name) => slots.get(name) === device) && (command === undefined || device === undefined);
  };
  return Object.fromEntries(Object.entries(rpc.methods).filter(([, method]) => isOwn(method)));
}

/** Methods of the configuration for a device's actuators and sensors, and those that dashboards' widgets call. */
export function ownDeclaredMethods(
  { config, actuators, sampler }: OwnCommandsDeps,
  device?: string,
): readonly Operation[] {
  const declared = ownMethodConfigs(config(), device);
  const all = config()
    .actuators.filter((one) => one.device === device)
    .map(actuatorSettings);
  return [
    ...declaredActuatorMethods(
      widgetMethods(declared, actuators.configs.map(actuatorSettings)),
      all,
      actuators.control,
    ),
    ...declaredSensorMethods(declared, sampler),
  ];
}

/** All methods of a device: those of the table on its parts, those of the configuration, and its programs. None touches an output of another device. */
export function operationsFor(device: CommandedDevice): readonly Operation[] {
  const { slot, config, actuators, parts, status, runsOn, tellsOn } = device;
  const sensors = { readNow: ownReadNow(device), asSent: sentBy(config) };
  return [
    ...(status === undefined ? [] : [statusOfDevice(status)]),
    ...operationsOf({ ...parts, sensors, actuators: actuators.control }),
    ...ownDeclaredMethods({ config, actuators, sampler: sensors }, slot),
    ...(tellsOn === undefined ? [] : lineMethods(ownMethodConfigs(config(), slot), config().sensors, tellsOn)),
    ...(runsOn === undefined ? [] : programMethods(ownMethodConfigs(config(), slot), runsOn)),
  ];
}

/** Readings as the platform gets them, by the configuration in force. */
export function sentBy(config: () => Pick<AgentConfig, 'sensors'>): SentReadings['asSent'] {
  return (name, readings) => {
    const sensor = config().sensors.find((one) => one.name === name);
    return readings.map((reading) => sentReading(sensor, reading));
  };
}

/** Reads sensors of the device in a slot, and knows no others; the gateway knows all. */
function ownReadNow({ slot, config, sampler }: CommandedDevice): ReadNow['readNow'] {
  return async (name, signal) => {
    const isOwn = slot === undefined || config().sensors.some((one) => one.name === name && one.device === slot);
    if (!isOwn) throw refusal('sensors/unknown', `there is no sensor ${name.slice(0, 64)}`);
    return await sampler.readNow(name, signal);
  };
}
