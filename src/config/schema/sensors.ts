/** Every kind of sensor, told apart by `kind`. */
import { z } from 'zod';
import { withDeadline } from './sensor-fields.ts';
import { gpioCounter, gpioFrequency, gpioInput } from './sensors-gpio.ts';
import { ads1115, bh1750, bme280, bmp280, i2cRegister, ina219, lm75, mcp9808, sht3x, tmp102 } from './sensors-i2c.ts';
import { command, host, moduleSensor } from './sensors-other.ts';
import { ds18b20, modbus, nmea, serialLine } from './sensors-serial.ts';

export const sensorSchema = z
  .discriminatedUnion('kind', [
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
  ])
  .transform(withDeadline);

export type SensorConfig = z.infer<typeof sensorSchema>;
export type SensorKind = SensorConfig['kind'];
/** The configuration of one kind: `SensorConfigOf<'bme280'>`. */
export type SensorConfigOf<K extends SensorKind> = Extract<SensorConfig, { readonly kind: K }>;
