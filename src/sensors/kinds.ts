/** Every kind of sensor there is, in the order in which editors offer them: one line for each. */
import type { z } from 'zod';
import { ads1115 } from './ads1115/definition.ts';
import { bh1750 } from './bh1750/definition.ts';
import { bme280 } from './bme280/definition.ts';
import { bmp280 } from './bmp280/definition.ts';
import { command } from './command/definition.ts';
import { ds18b20 } from './ds18b20/definition.ts';
import { gpioCounter } from './gpio-counter/definition.ts';
import { gpioFrequency } from './gpio-frequency/definition.ts';
import { gpioInput } from './gpio-input/definition.ts';
import { host } from './host/definition.ts';
import { i2cRegister } from './i2c-register/definition.ts';
import { ina219 } from './ina219/definition.ts';
import type { ConfigOf, SensorDefinition } from './kind/definition.ts';
import { lm75 } from './lm75/definition.ts';
import { mcp9808 } from './mcp9808/definition.ts';
import { modbus } from './modbus/definition.ts';
import { moduleSensor } from './module/definition.ts';
import { nmea } from './nmea/definition.ts';
import { serialLine } from './serial-line/definition.ts';
import { sht3x } from './sht3x/definition.ts';
import { tmp102 } from './tmp102/definition.ts';

export const SENSOR_KINDS = [
  gpioInput,
  gpioCounter,
  gpioFrequency,
  bme280,
  bmp280,
  sht3x,
  tmp102,
  lm75,
  mcp9808,
  ads1115,
  ina219,
  bh1750,
  i2cRegister,
  ds18b20,
  serialLine,
  nmea,
  modbus,
  host,
  command,
  moduleSensor,
] as const;

export type SensorKind = (typeof SENSOR_KINDS)[number]['kind'];
type AnyConfig = ConfigOf<(typeof SENSOR_KINDS)[number]['schema']>;
/** Definition of any kind: the configurations given to it must be of that kind. */
export type AnyDefinition = SensorDefinition<z.ZodType, AnyConfig> & { readonly kind: SensorKind };

const BY_KIND: ReadonlyMap<string, AnyDefinition> = new Map(SENSOR_KINDS.map((definition) => [definition.kind, definition]));

export function definitionOf(kind: SensorKind): AnyDefinition {
  return BY_KIND.get(kind) as AnyDefinition; // the list has every kind there is
}
