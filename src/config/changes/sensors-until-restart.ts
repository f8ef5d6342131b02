/**
 * Sensors are taken up by a reload, with the device to which they belong; the devices themselves by a restart only. A sensor of a device that is not
 * there yet waits for the restart with it: until then the one before goes on, where there was one, as its values would be nobody's.
 */
import type { AgentConfig, SensorConfig } from '../schema/agent-config.ts';

export interface SensorsBefore {
  /** The devices with which the agent began. */
  readonly devices: AgentConfig['devices'];
  /** The sensors that went so far. */
  readonly sensors: readonly SensorConfig[];
}

/** The sensors to go by with this configuration: its own, where nothing waits. */
export function sensorsUntilRestart({ devices, sensors: before }: SensorsBefore, { sensors }: AgentConfig): readonly SensorConfig[] {
  const inForce = new Set(devices.map(({ name }) => name));
  const byName = new Map(before.map((one) => [one.name, one]));
  return sensors.flatMap((sensor) => {
    const { name, device } = sensor;
    if (device === undefined || inForce.has(device)) return [sensor];
    const old = byName.get(name);
    return old === undefined ? [] : [old];
  });
}
