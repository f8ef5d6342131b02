/** Every kind of sensor and how it is opened; and a configured sensor as the sampler wants it. */
import type { AgentConfig, SensorConfig, SensorKind } from '../config/agent-config.ts';
import { sendableKey } from '../platform/wire-values.ts';
import { openAds1115 } from './ads1115.ts';
import { openBh1750 } from './bh1750.ts';
import { openBosch } from './bosch.ts';
import { openCommand } from './command.ts';
import { openDs18b20 } from './ds18b20.ts';
import { openGpioCounter } from './gpio-counter.ts';
import { openGpioFrequency } from './gpio-frequency.ts';
import { openGpioInput } from './gpio-input.ts';
import { openHost } from './host.ts';
import { openI2cRegister } from './i2c-register.ts';
import { openIna219 } from './ina219.ts';
import { openModbus } from './modbus.ts';
import { openModule } from './module.ts';
import { openNmea } from './nmea.ts';
import type { SamplerEntry } from './sampler.ts';
import { withSendableKeys } from './sendable-sensor.ts';
import type { Sensor } from './sensor.ts';
import type { AnySensorFactory, SensorDeps, SensorFactory } from './sensor-deps.ts';
import { openSerialLine } from './serial-line.ts';
import { openSht3x } from './sht3x.ts';
import { openLm75, openMcp9808, openTmp102 } from './thermometers.ts';

const FACTORIES: { readonly [K in SensorKind]: SensorFactory<K> } = {
  'gpio-input': openGpioInput,
  'gpio-counter': openGpioCounter,
  'gpio-frequency': openGpioFrequency,
  bme280: openBosch,
  bmp280: openBosch,
  sht3x: openSht3x,
  tmp102: openTmp102,
  lm75: openLm75,
  mcp9808: openMcp9808,
  ads1115: openAds1115,
  ina219: openIna219,
  bh1750: openBh1750,
  'i2c-register': openI2cRegister,
  ds18b20: openDs18b20,
  'serial-line': openSerialLine,
  nmea: openNmea,
  modbus: openModbus,
  host: openHost,
  command: openCommand,
  module: openModule,
};

/** @throws AgentError (retry) from the sensor's ports or the driver itself. */
export async function createSensor(config: SensorConfig, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const factory = FACTORIES[config.kind] as AnySensorFactory;
  return withSendableKeys(await factory(config, deps, signal), deps.keyOf ?? sendableKey);
}

/** Kinds whose drivers wait by themselves, for as long as they were told when they were opened. */
const KEEPS_TIMES: ReadonlySet<SensorConfig['kind']> = new Set(['command', 'serial-line']);

type Users = Pick<AgentConfig, 'rules' | 'actuators'>;

/** A configured sensor as the sampler wants it. @param users what may act on its readings. */
export function samplerEntry(config: SensorConfig, deps: SensorDeps, users: Users = { rules: [], actuators: [] }): SamplerEntry {
  const { name, kind, periodMs, deadlineMs, givenDeadlineMs: _given, align, window, keys: _keys, ...driver } = config;
  return {
    name,
    kind,
    periodMs,
    deadlineMs,
    align,
    ...(window !== undefined && { window }),
    use: useOf(config, users),
    // A sensor is opened again only when something that concerns its driver has changed.
    revision: JSON.stringify(KEEPS_TIMES.has(kind) ? { ...driver, periodMs, deadlineMs } : driver),
    open: (signal) => createSensor(config, deps, signal),
  };
}

/** A new rule, or one whose actuator is another now, acts on the next reading; other report rules tell of it. */
function useOf(config: SensorConfig, { rules, actuators }: Users): unknown {
  const watching = rules.filter(({ when }) => when.sensor === config.name);
  const moved = new Set(watching.map(({ set }) => set.actuator));
  return [config, watching, actuators.filter(({ name }) => moved.has(name))];
}
