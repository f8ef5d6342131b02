/** Local rules: they work without the platform, through the same limits, interlocks and lockout as everyone else. */
import { z } from 'zod';
import { conditionFields } from '../fields/conditions.ts';
import { comparedValue, duration, LIVE, label, list, name, section } from '../fields/fields.ts';

/** A reading and the value for it. */
const point = () => list(z.number(), { min: 2, max: 2 }).meta({ expected: 'a reading and its value, such as [30, 0]' });

export const ruleSchema = section({
  name: name(),
  /** Shown to people in place of the name. */
  label: label().optional(),
  /** Can be switched by a shared attribute, unless the rule protects. */
  enabled: z.boolean().meta(LIVE).default(true),
  /** Without it a curve applies always. */
  when: section({
    ...conditionFields(),
    /** How long the condition must hold. */
    for: duration({ max: '1d' }).meta(LIVE).prefault('0s'),
  }).optional(),
  /** Exactly one of value and curve. */
  set: section({
    actuator: name(),
    value: comparedValue().optional(),
    /** Proportional control: linear between points, held outside them. */
    curve: section({
      sensor: name(),
      key: z.string().min(1).max(255),
      points: list(point(), { min: 2, max: 32 }),
    }).optional(),
  }),
  /** Value for the same actuator when the condition ends; without it nothing happens then. */
  otherwise: comparedValue().optional(),
  /** Comes before operators: their commands against it are refused. */
  protect: z.boolean().default(false),
  /** Value for the same actuator while the sensor is lost; without it the rule says nothing then. */
  sensorLost: comparedValue().optional(),
  /** Default: three values that were due; a sensor that reports by event is lost when it fails. */
  lostAfter: duration({ min: '1s', max: '30d' }).optional(),
});

export type RuleConfig = z.infer<typeof ruleSchema>;
