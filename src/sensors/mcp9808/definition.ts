/** MCP9808. Key `temperature` (°C). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/lines-and-ports.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../definition.ts';
import { UNITS } from '../families/thermometers/definition.ts';

const schema = sensorSection('mcp9808', {
  ...i2cFields({ default: 0x18, min: 0x18, max: 0x1f }),
  resolution: z.literal([0.5, 0.25, 0.125, 0.0625]).default(0.0625),
});

export type Mcp9808Config = ConfigOf<typeof schema>;

export const mcp9808 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  scan: {
    addresses: addresses(0x18, 0x1f),
    isCertain: true,
    turn: 1,
    // Microchip DS25095A 5.1.1: manufacturer 0x0054 in register 6, device 0x04 in the upper byte of register 7.
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 6, signal)) === 0x0054 && (await bus.readWord(address, 7, signal)) >> 8 === 0x04,
  },
});
