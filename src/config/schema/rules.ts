/** Local rules: they work without the platform, through the same limits, interlocks and lockout as everyone else. */
import { z } from 'zod';
import { duration, LIVE, name, section } from '../fields.ts';
import { conditionFields, ruleValue } from './conditions.ts';

export const ruleSchema = section({
  name: name(),
  /** Can be switched by a shared attribute. */
  enabled: z.boolean().meta(LIVE).default(true),
  when: section({
    ...conditionFields(),
    /** How long the condition must hold. */
    for: duration({ max: '1d' }).meta(LIVE).prefault('0s'),
  }),
  set: section({ actuator: name(), value: ruleValue() }),
  /** What the same actuator gets when the condition ends; without it nothing happens then. */
  otherwise: ruleValue().optional(),
  /** Comes before operators: their commands against it are refused. */
  protect: z.boolean().default(false),
  /** What the same actuator gets while the sensor is lost; without it the rule says nothing then. */
  sensorLost: ruleValue().optional(),
  /** Default: three values that were due; a sensor that reports by event is lost when it fails. */
  lostAfter: duration({ min: '1s', max: '30d' }).optional(),
});

export type RuleConfig = z.infer<typeof ruleSchema>;
