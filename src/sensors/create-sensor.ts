/** Every kind of sensor and how it is opened; and a configured sensor as the sampler wants it. */
import type { SensorConfig, SensorKind } from '../config/agent-config.ts';
import { openBosch } from './bosch.ts';
import { openGpioInput } from './gpio-input.ts';
import { openHost } from './host.ts';
import type { SamplerEntry } from './sampler.ts';
import type { Sensor } from './sensor.ts';
import type { AnySensorFactory, SensorDeps, SensorFactory } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';
import { openSerialLine } from './serial-line.ts';

type FactoryTable = { readonly [K in SensorKind]?: SensorFactory<K> };

const FACTORIES: FactoryTable = {
  'gpio-input': openGpioInput,
  bme280: openBosch,
  bmp280: openBosch,
  'serial-line': openSerialLine,
  host: openHost,
};

/** @throws AgentError (retry) from the sensor's ports, or `sensors/unknown-kind`. */
export async function createSensor(config: SensorConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const factory = FACTORIES[config.kind] as AnySensorFactory | undefined;
  if (factory === undefined) throw sensorFault('unknown-kind', `no driver for sensors of kind ${config.kind}`);
  return await factory(config, deps, signal);
}

/** A configured sensor as the sampler wants it. */
export function samplerEntry(config: SensorConfig, deps: SensorDeps): SamplerEntry {
  const { name, kind, periodMs, deadlineMs, align, window, keys: _keys, ...driver } = config;
  return {
    name,
    kind,
    periodMs,
    deadlineMs,
    align,
    ...(window !== undefined && { window }),
    // A sensor is opened again only when something that concerns its driver has changed.
    revision: JSON.stringify(driver),
    open: (signal) => createSensor(config, deps, signal),
  };
}
