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
import { type Operation, operationsOn, QUESTION } from '../operations/operation.ts';
import { builtInOperations, type OperationParts } from '../operations/operation-table.ts';
import { OUTPUT_OPERATIONS } from '../operations/output-operations.ts';
import {
  declaredSensorMethods,
  type ReadNow,
  SENSOR_OPERATIONS,
  type SentReadings,
} from '../operations/sensor-operations.ts';
import { programMethods } from '../rpc/program-methods.ts';
import type { JsonObject } from '../values/json.ts';

type Configured = Pick<AgentConfig, 'actuators' | 'sensors' | 'rpc'>;

export interface OwnCommandsDeps {
  /** Actuators and methods are those of the start; a sensor may become another device's at any time. */
  readonly config: () => Configured;
  readonly actuators: OwnActuators;
  readonly sampler: ReadNow;
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

/** All methods of an attached device: none of them touches the gateway, or another device. */
export function attachedMethods(
  deps: OwnCommandsDeps & { readonly status: () => JsonObject },
  device: string,
): readonly Operation[] {
  const { config, actuators, sampler, status } = deps;
  const own: ReadNow = {
    readNow: async (name, signal) => {
      const isOwn = config().sensors.some((one) => one.name === name && one.device === device);
      if (!isOwn) throw refusal('sensors/unknown', `there is no sensor ${name.slice(0, 64)}`);
      return await sampler.readNow(name, signal);
    },
  };
  return [
    { ...QUESTION, name: 'getStatus', description: 'How this device is: its sensors and actuators.', run: status },
    ...operationsOn(SENSOR_OPERATIONS, { ...own, asSent: sentBy(config) }),
    ...operationsOn(OUTPUT_OPERATIONS, actuators.control),
    ...ownDeclaredMethods({ config, actuators, sampler: own }, device),
  ];
}

/** Readings as the platform gets them, by the configuration in force. */
export function sentBy(config: () => Pick<AgentConfig, 'sensors'>): SentReadings['asSent'] {
  return (name, readings) => {
    const sensor = config().sensors.find((one) => one.name === name);
    return readings.map((reading) => sentReading(sensor, reading));
  };
}

export interface GatewayMethodsDeps extends OwnCommandsDeps, Pick<OperationParts, 'status' | 'sensors' | 'outbox'> {
  readonly live: OperationParts['settings']['live'];
  readonly log: OperationParts['settings']['log'];
  readonly machine: Parameters<typeof programMethods>[1];
  readonly self: OperationParts['credentials'];
  readonly firmware: Omit<OperationParts['restarts'], 'restart'>;
  readonly restart: () => void;
}

/** All methods of the gateway: built in, of its configuration, and programs. */
export function gatewayMethods(deps: GatewayMethodsDeps): readonly Operation[] {
  const { config, live, log, machine, self, firmware, restart, actuators } = deps;
  const restarts = { restart, expectReboots: () => firmware.expectReboots(), reboot: () => firmware.reboot() };
  return [
    ...builtInOperations({
      ...deps,
      settings: { live, log },
      restarts,
      actuators: actuators.control,
      credentials: self,
    }),
    ...ownDeclaredMethods(deps),
    ...programMethods(config().rpc.methods, machine),
  ];
}
