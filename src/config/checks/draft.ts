/** A configuration as far as it could be parsed: cross checks work on what is whole, so that one fault does not hide the others. */

import { actuatorDefinition } from '../../kinds/actuator-kinds.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import type { Finding, Placed } from '../fields/findings.ts';
import { totalKeys } from '../keys/actuator-keys.ts';
import { platformKeysOf, sensorKeys } from '../keys/sensor-keys.ts';
import type { ActuatorConfig, AgentConfig, DeviceConfig, RuleConfig, SensorConfig } from '../schema/agent-config.ts';

export interface ConfigDraft {
  readonly devices: readonly Placed<DeviceConfig>[];
  readonly sensors: readonly Placed<SensorConfig>[];
  readonly actuators: readonly Placed<ActuatorConfig>[];
  readonly rules: readonly Placed<RuleConfig>[];
  /** Keys that the sensors send, by their kinds and rules. */
  readonly telemetry: readonly (KeyUse & { readonly sensor: SensorConfig })[];
  /** Every other section that parsed. */
  readonly sections: Partial<Omit<AgentConfig, 'devices' | 'sensors' | 'actuators' | 'rules'>>;
  /** Names as written, also of items that did not parse: a reference to a broken sensor is no second fault. */
  readonly deviceNames: ReadonlySet<string>;
  readonly sensorNames: ReadonlySet<string>;
  readonly actuatorNames: ReadonlySet<string>;
  readonly brokerNames: ReadonlySet<string>;
}

/** A key at the platform, and where it is written. */
export interface KeyUse {
  readonly key: string;
  readonly path: ConfigPath;
  /** Slot of the attached device that has it; undefined for the gateway. */
  readonly device?: string | undefined;
}

/** Tells apart the keys of one device: two devices may have the same. */
export function ownKey({ key, device = '' }: KeyUse): string {
  return `${device} ${key}`;
}

/** Every key that sensors send, once for all who look at them: there may be tens of thousands. */
export function telemetryUses(sensors: readonly Placed<SensorConfig>[]): ConfigDraft['telemetry'] {
  const uses: (KeyUse & { readonly sensor: SensorConfig })[] = [];
  for (const { config, path } of sensors) {
    const named = [...path, 'name'];
    for (const key of sensorKeys(config) ?? []) {
      const isOwnRename = Object.hasOwn(config.keys, key) && config.keys[key]?.rename !== undefined;
      const at = isOwnRename ? [...path, 'keys', key, 'rename'] : named;
      for (const sent of platformKeysOf(config, key))
        uses.push({ key: sent, path: at, device: config.device, sensor: config });
    }
  }
  return uses;
}

/** The shared attributes by which actuators are moved. */
export function desiredUses({ actuators }: ConfigDraft): readonly KeyUse[] {
  return actuators.map(({ config: { name, desiredKey, device }, path }) => ({
    key: desiredKey,
    device,
    path: [...path, desiredKey === name ? 'name' : 'desiredKey'],
  }));
}

/** The telemetry and client attributes in which actuators say where they are. */
export function stateUses({ actuators }: ConfigDraft): readonly KeyUse[] {
  return actuators.map(({ config: { name, stateKey, device }, path }) => ({
    key: stateKey,
    device,
    path: [...path, stateKey === `${name}State` ? 'name' : 'stateKey'],
  }));
}

/** Telemetry keys of outputs that are on or off, beside their states; a name that stands twice is told of by itself. */
export function totalUses({ actuators }: ConfigDraft): readonly KeyUse[] {
  const byName = new Map(actuators.map((one) => [one.config.name, one]));
  return [...byName.values()]
    .filter(({ config }) => config.telemetry && actuatorDefinition(config.kind).valueType(config) === 'boolean')
    .flatMap(({ config: { name, device }, path }) =>
      totalKeys(name).map((key) => ({ key, device, path: [...path, 'name'] })),
    );
}

export function clientAttributeUses({ sections }: ConfigDraft): readonly KeyUse[] {
  return Object.keys(sections.attributes?.client ?? {}).map((key) => ({ key, path: ['attributes', 'client', key] }));
}

export type Check = (draft: ConfigDraft) => Finding[];
