/** TMP102. Key `temperature` (°C). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/lines-and-ports.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../definition.ts';
import { UNITS } from '../families/thermometers/definition.ts';

const schema = sensorSection('tmp102', {
  ...i2cFields({ default: 0x48, min: 0x48, max: 0x4b }),
  extended: z.boolean().default(false),
});

export type Tmp102Config = ConfigOf<typeof schema>;

export const tmp102 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  scan: {
    addresses: addresses(0x48, 0x4b),
    isCertain: false,
    turn: 4,
    // TI SBOS397, 7.5.3: bits R1 and R0 of the configuration always read 1, its lowest four bits 0.
    looksLike: async (bus, address, signal) => ((await bus.readWord(address, 1, signal)) & 0x600f) === 0x6000,
  },
});
