/** Pulses on a GPIO line. Keys `total` (survives restarts) and `rate` (pulses per second since the last reading). */
import { z } from 'zod';
import { gpioInputFields } from '../../config/fields/addresses.ts';
import { duration } from '../../config/fields/fields.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Pulses that a power cut may lose, against one or two small writes a minute to the card. */
const DEFAULT_SAVE_EVERY = '1m';

const schema = sensorSection('gpio-counter', () => ({
  ...gpioInputFields,
  edge: z.enum(['rising', 'falling', 'both']).default('rising'),
  /** How often the total is written to the state folder, and then reported. */
  saveEvery: duration({ min: '1s', max: '1d' }).prefault(DEFAULT_SAVE_EVERY),
}));

export type GpioCounterConfig = ConfigOf<typeof schema>;
export const UNITS = { total: null, rate: '1/s' } as const;

export const gpioCounter = defineSensor({ schema, driver: () => import('./driver.ts'), units: UNITS });
