/** BH1750. Key `illuminance` (lx). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('bh1750', () => ({
  ...i2cFields({ default: 0x23 }),
  mode: z.enum(['high', 'high2', 'low']).default('high'),
}));

export type Bh1750Config = ConfigOf<typeof schema>;
export const UNITS = { illuminance: 'lx' } as const;
/** The longest measurement of each mode (technical note of the BH1750FVI, page 2). */
export const MEASUREMENT_MS = { high: 180, high2: 180, low: 24 } as const;

export const bh1750 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  // A count is 1/1.2 lx.
  digits: { illuminance: 1 },
  minReadMs: ({ mode }) => MEASUREMENT_MS[mode],
  // It has no register to ask; its two addresses are its own.
  scan: { addresses: [0x23, 0x5c], isCertain: false, turn: 9, looksLike: async () => true },
});
