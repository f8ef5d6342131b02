/** A PWM channel: a dimmer, a fan, a proportional valve. Values are duty cycles in percent. */
import { z } from 'zod';
import { frequency, whole } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** Above hearing for motors, far below what a relay driver's optocoupler follows. */
const DEFAULT_FREQUENCY = '1kHz';

const schema = actuatorSection('pwm', {
  /** N of /sys/class/pwm/pwmchipN. */
  chip: whole(0, 255).default(0),
  channel: whole(0, 31),
  frequency: frequency({ min: '1Hz', max: '1MHz' }).prefault(DEFAULT_FREQUENCY),
  inverted: z.boolean().default(false),
});

export type PwmConfig = ConfigOf<typeof schema>;

export const pwm = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: () => 'number',
  range: () => [0, 100],
  isReadable: () => true,
  isIdempotent: true,
  hasOwnSupply: false,
});
