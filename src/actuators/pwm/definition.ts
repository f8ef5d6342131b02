/** A PWM channel: a dimmer, a fan, a proportional valve. Values are duty cycles in percent. */
import { z } from 'zod';
import { frequency, text, whole } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** Above hearing for motors, far below what a relay driver's optocoupler follows. */
const DEFAULT_FREQUENCY = '1kHz';

const schema = actuatorSection('pwm', () => ({
  /** N of /sys/class/pwm/pwmchipN, or the name of its device, which stays the same with another kernel. */
  chip: z
    .union([whole(0, 255), text(/^(?=.*\D)[^\s/]{1,64}$/, 'the name of its device such as 1f00098000.pwm')])
    .default(0),
  channel: whole(0, 31),
  frequency: frequency({ min: '1Hz', max: '1MHz' }).prefault(DEFAULT_FREQUENCY),
  inverted: z.boolean().default(false),
}));

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
