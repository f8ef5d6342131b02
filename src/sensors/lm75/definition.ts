/** LM75 and its descendants. Key `temperature` (°C). */
import { i2cFields } from '../../config/fields/lines-and-ports.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../definition.ts';
import { UNITS } from '../families/thermometers/definition.ts';

const schema = sensorSection('lm75', i2cFields({ default: 0x48, min: 0x48, max: 0x4f }));

export type Lm75Config = ConfigOf<typeof schema>;

export const lm75 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  scan: {
    addresses: addresses(0x48, 0x4f),
    isCertain: false,
    turn: 5,
    // NXP/TI LM75 data sheets: hysteresis 75 °C and limit 80 °C after power-on.
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 2, signal)) === 0x4b00 && (await bus.readWord(address, 3, signal)) === 0x5000,
  },
});
