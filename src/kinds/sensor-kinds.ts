/** Every kind of sensor there is, in the order in which editors offer them: one line for each. */
import type { z } from 'zod';
import { ads1115 } from '../sensors/ads1115/definition.ts';
import { bh1750 } from '../sensors/bh1750/definition.ts';
import { bme280 } from '../sensors/bme280/definition.ts';
import { bmp280 } from '../sensors/bmp280/definition.ts';
import { command } from '../sensors/command/definition.ts';
import { derived } from '../sensors/derived/definition.ts';
import { dlms } from '../sensors/dlms/definition.ts';
import { ds18b20 } from '../sensors/ds18b20/definition.ts';
import { gpioCounter } from '../sensors/gpio-counter/definition.ts';
import { gpioFrequency } from '../sensors/gpio-frequency/definition.ts';
import { gpioInput } from '../sensors/gpio-input/definition.ts';
import { host } from '../sensors/host/definition.ts';
import { http } from '../sensors/http/definition.ts';
import { hwmon } from '../sensors/hwmon/definition.ts';
import { i2cRegister } from '../sensors/i2c-register/definition.ts';
import { iec62056 } from '../sensors/iec62056/definition.ts';
import { iio } from '../sensors/iio/definition.ts';
import { ina219 } from '../sensors/ina219/definition.ts';
import type { ConfigOf, SensorDefinition } from '../sensors/kind/definition.ts';
import { lm75 } from '../sensors/lm75/definition.ts';
import { mbus } from '../sensors/mbus/definition.ts';
import { mcp9808 } from '../sensors/mcp9808/definition.ts';
import { modbus } from '../sensors/modbus/definition.ts';
import { moduleSensor } from '../sensors/module/definition.ts';
import { mqtt } from '../sensors/mqtt/definition.ts';
import { nmea } from '../sensors/nmea/definition.ts';
import { processSensor } from '../sensors/process/definition.ts';
import { pylontech } from '../sensors/pylontech/definition.ts';
import { serialLine } from '../sensors/serial-line/definition.ts';
import { sht3x } from '../sensors/sht3x/definition.ts';
import { sml } from '../sensors/sml/definition.ts';
import { sunspec } from '../sensors/sunspec/definition.ts';
import { tmp102 } from '../sensors/tmp102/definition.ts';

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
  iio,
  hwmon,
  serialLine,
  nmea,
  sml,
  dlms,
  iec62056,
  mbus,
  pylontech,
  modbus,
  sunspec,
  http,
  mqtt,
  host,
  derived,
  command,
  processSensor,
  moduleSensor,
] as const;

export type SensorKind = (typeof SENSOR_KINDS)[number]['kind'];
type AnyConfig = ConfigOf<(typeof SENSOR_KINDS)[number]['schema']>;
/** Definition of any kind: the configurations given to it must be of that kind. */
export type AnyDefinition = SensorDefinition<z.ZodType, AnyConfig> & { readonly kind: SensorKind };

const BY_KIND: ReadonlyMap<string, AnyDefinition> = new Map(
  SENSOR_KINDS.map((definition) => [definition.kind, definition]),
);

export function definitionOf(kind: SensorKind): AnyDefinition {
  return BY_KIND.get(kind) as AnyDefinition; // the list has every kind there is
}
