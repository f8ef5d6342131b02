/** A GPIO line that switches: a relay, a lamp, a contactor. Values are true and false. */
import { z } from 'zod';
import { gpioLine } from '../../config/fields/addresses.ts';
import { duration } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** A relay that is held by a pulse is a relay that was forgotten. */
const DEFAULT_MAX_PULSE = '1m';

const schema = actuatorSection('gpio-output', () => ({
  line: gpioLine(),
  activeLow: z.boolean().default(false),
  /** The longest pulse anyone may ask for. */
  maxPulse: duration({ min: '1ms', max: '1h' }).prefault(DEFAULT_MAX_PULSE),
}));

export type GpioOutputConfig = ConfigOf<typeof schema>;

export const gpioOutput = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: () => 'boolean',
  maxPulseMs: ({ maxPulseMs }) => maxPulseMs,
  isReadable: () => true,
  isIdempotent: true,
  hasOwnSupply: false,
});
