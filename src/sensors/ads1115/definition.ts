/** ADS1115. One key per channel, in volts at the input. */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import { platformKey, section, table } from '../../config/fields/fields.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const INPUTS = ['A0', 'A1', 'A2', 'A3', 'A0-A1', 'A0-A3', 'A1-A3', 'A2-A3'] as const;
/** The oscillator is good for 10 % (section 7.5). */
const SLOWEST = 1.1;

const schema = sensorSection('ads1115', () => ({
  ...i2cFields({ default: 0x48, min: 0x48, max: 0x4b }),
  /** Key at the sensor → input. */
  channels: table(
    platformKey(),
    section({
      input: z.enum(INPUTS),
      rangeVolts: z.literal([6.144, 4.096, 2.048, 1.024, 0.512, 0.256]).default(4.096),
    }),
  ),
  samplesPerSecond: z.literal([8, 16, 32, 64, 128, 250, 475, 860]).default(128),
}));

export type Ads1115Config = ConfigOf<typeof schema>;

export const ads1115 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  keys: ({ channels }) => Object.keys(channels),
  minReadMs: ({ samplesPerSecond, channels }) => conversionMs(samplesPerSecond) * Object.keys(channels).length,
  faults: ({ channels }, path) =>
    Object.keys(channels).length === 0
      ? [{ path: [...path, 'channels'], problem: 'no channel', expected: 'at least one' }]
      : [],
  scan: {
    addresses: addresses(0x48, 0x4b),
    isCertain: false,
    turn: 3,
    // TI SBAS444, 9.6.4: thresholds 0x8000 and 0x7FFF after power-on.
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 2, signal)) === 0x8000 && (await bus.readWord(address, 3, signal)) === 0x7fff,
    options: (next) => ({
      channels: Object.fromEntries(['A0', 'A1', 'A2', 'A3'].map((input) => [next('analog'), { input }])),
    }),
  },
});

/** One conversion. */
export function conversionMs(samplesPerSecond: number): number {
  return (1_000 * SLOWEST) / samplesPerSecond;
}
