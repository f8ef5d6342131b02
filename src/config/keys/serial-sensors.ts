/** Fills in which sensor reads the serial number of an attached device, where its configuration leaves that out. */
import type { Placed } from '../fields/findings.ts';
import type { DeviceConfig, SensorConfig } from '../schema/agent-config.ts';

/** The devices, with the only sensor of each where its serial number names none; values made of others do not count. */
export function withSerialSensors(
  devices: readonly Placed<DeviceConfig>[],
  sensors: readonly Placed<SensorConfig>[],
): readonly Placed<DeviceConfig>[] {
  const measured = sensors.map(({ config }) => config).filter(({ kind }) => kind !== 'derived');
  const byDevice = Map.groupBy(measured, ({ device }) => device);
  return devices.map(({ config, path }) => {
    const { serialNumber } = config;
    const [only, ...others] = byDevice.get(config.name) ?? [];
    if (serialNumber === undefined || serialNumber.sensor !== '' || only === undefined || others.length > 0)
      return { config, path };
    return { config: { ...config, serialNumber: { ...serialNumber, sensor: only.name } }, path };
  });
}
