/** The whole configuration: one YAML file, as the rest of the agent sees it. Frozen, complete, with units in its names. */
import { z } from 'zod';
import { serialLine } from '../fields/addresses.ts';
import { DEFAULT_RUN_FOLDER, DEFAULT_STATE_FOLDER } from '../fields/default-places.ts';
import { filePath, label, list, section } from '../fields/fields.ts';
import { MAX_ITEMS } from '../fields/max-items.ts';
import { actuatorSchema } from './actuators.ts';
import { brokerSchema } from './brokers.ts';
import { outboxSchema, uploadSchema } from './delivery.ts';
import { deviceSchema } from './devices.ts';
import { firmwareSchema } from './firmware.ts';
import { linkSchema } from './link.ts';
import { analyticsSchema, hardwareSchema, logSchema, shutdownSchema, statusSchema } from './local.ts';
import { attributesSchema, platformSchema, provisioningSchema, timeSchema } from './platform.ts';
import { remoteSchema } from './remote.ts';
import { rpcSchema } from './rpc.ts';
import { ruleSchema } from './rules.ts';
import { sensorSchema } from './sensors.ts';

/** The only version of the file's format there is. */
const CONFIG_VERSION = 1;

export const configShape = {
  version: z.literal(CONFIG_VERSION),
  /** The gateway, shown to people in place of its name at the platform, which it never changes. */
  label: label().optional(),
  platform: platformSchema,
  link: linkSchema.prefault({}),
  provisioning: provisioningSchema.optional(),
  /** Outbox, credentials, journal: everything that must survive. */
  stateFolder: filePath().default(DEFAULT_STATE_FOLDER),
  /** Control sockets and what may vanish at a reboot. */
  runFolder: filePath().default(DEFAULT_RUN_FOLDER),
  log: logSchema.prefault({}),
  time: timeSchema.prefault({}),
  hardware: hardwareSchema.prefault({}),
  /** Serial ports with several sensors and outputs, which name them by `on`. */
  lines: list(serialLine, { max: 64 }).optional(),
  /** MQTT brokers, which sensors name by `broker`. */
  brokers: list(brokerSchema, { max: 16 }).optional(),
  /** Attached devices: each a device of its own on the platform. */
  devices: list(deviceSchema, { max: MAX_ITEMS.devices }).default([]),
  sensors: list(sensorSchema, { max: MAX_ITEMS.sensors }).default([]),
  actuators: list(actuatorSchema, { max: MAX_ITEMS.actuators }).default([]),
  rules: list(ruleSchema, { max: MAX_ITEMS.rules }).default([]),
  outbox: outboxSchema.prefault({}),
  upload: uploadSchema.prefault({}),
  attributes: attributesSchema.prefault({}),
  rpc: rpcSchema.prefault({}),
  firmware: firmwareSchema.prefault({}),
  remoteConfiguration: remoteSchema.prefault({}),
  status: statusSchema.prefault({}),
  shutdown: shutdownSchema.prefault({}),
  analytics: analyticsSchema.optional(),
};

export const configSchema = section(configShape);

export type AgentConfig = z.infer<typeof configSchema>;

/** With a simulated board's socket, where there is one, in place of the hardware that it names. */
export function onBoard(config: AgentConfig, boardSocket: string | undefined): AgentConfig {
  return boardSocket === undefined
    ? config
    : { ...config, hardware: { ...config.hardware, board: 'simulated', boardSocket } };
}

export type { GpioLineConfig, ModbusConnectionConfig } from '../fields/addresses.ts';
export type { ConditionConfig } from '../fields/conditions.ts';
export type { KeyRulesConfig } from '../fields/key-rules.ts';
export type { ActuatorConfig, ActuatorConfigOf } from './actuators.ts';
export type { BrokerConfig } from './brokers.ts';
export type { OutboxConfig, UploadConfig } from './delivery.ts';
export type { DeviceConfig } from './devices.ts';
export type { FirmwareConfig, FirmwareHandlerConfig } from './firmware.ts';
export type { LinkConfig } from './link.ts';
export type { AnalyticsConfig, HardwareConfig, LogConfig, ShutdownConfig, StatusConfig } from './local.ts';
export type { AttributesConfig, PlatformConfig, ProvisioningConfig, TimeConfig } from './platform.ts';
export type { RemoteAllowance, RemoteConfig } from './remote.ts';
export type { RpcConfig, RpcMethodConfig } from './rpc.ts';
export type { RuleConfig } from './rules.ts';
export type { SensorConfig, SensorConfigOf, SensorKind } from './sensors.ts';
