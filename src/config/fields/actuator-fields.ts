/** Fields that every actuator has, whatever its kind: limits, interlocks and safe states. */
import { z } from 'zod';
import { className, duration, label, list, name, onOff, platformKey, section, whole } from './fields.ts';
import { slotName } from './slot-name.ts';

/** true and false (also written on and off), a number, or text. */
const actuatorValue = () => z.union([onOff(), z.number(), z.string().max(1_024)]);

const interlock = () =>
  z.union([
    name().transform((other) => ({ with: other, gapMs: 0 })),
    section({ with: name(), gap: duration({ max: '1h' }).prefault('0s') }),
  ]);

export const actuatorFields = {
  name: name(),
  /** Shown to people in place of the name. */
  label: label().optional(),
  /** Kind of output, such as pump, valve, heater or light: words of its states, icon, and whether a person is asked before it is switched. */
  class: className().optional(),
  enabled: z.boolean().default(true),
  /** Slot of the attached device whose commands and shared attributes move it; default: the gateway. */
  device: slotName().optional(),
  /** Shared attribute with the desired state; default: the actuator's name. */
  desiredKey: platformKey().optional(),
  /** Client attribute and telemetry key with the real state; default: the name and `State`. */
  stateKey: platformKey().optional(),
  /** Reports each change of the state, and of what is on or off its operating hours and starts, as telemetry. */
  telemetry: z.boolean().default(true),
  /**
   * True restores the last desired state after a restart; otherwise `safe.start` holds until another value is set. An output that cannot be
   * read back is moved again by that at each start, which `repeat` allows.
   */
  restore: z.union([z.boolean(), z.literal('repeat')]).default(false),
  /** States for when nobody is in charge; one that is not given leaves the hardware as it is. */
  safe: section({
    start: actuatorValue().optional(),
    /** An ordinary stop of the service. */
    stop: actuatorValue().optional(),
    /** Set by the stop hook, after the agent has ended in any other way. */
    crash: actuatorValue().optional(),
    /** No contact with the platform for this long. */
    noContact: section({ after: duration({ min: '10s', max: '30d' }), value: actuatorValue() }).optional(),
  }).prefault({}),
  limits: section({
    min: z.number().optional(),
    max: z.number().optional(),
    /** Values are multiples of this, counted from `min` (or 0). */
    step: z.number().positive().optional(),
    /** Once on, stays on for at least this long. */
    minOn: duration({ max: '1d' }).optional(),
    minOff: duration({ max: '1d' }).optional(),
    /** The longest time on; then it is switched off, whoever switched it on. */
    maxOn: duration({ min: '10ms', max: '30d' }).optional(),
    /** How often it may be switched on within an hour; switching off is never counted. */
    maxSwitchesPerHour: whole(1, 100_000).optional(),
  }).prefault({}),
  /** How long an operator's command without a time of its own holds against the rules: until what they say changes, or until a release. */
  operatorUntil: z.enum(['ruleChange', 'release']).default('ruleChange'),
  /** Actuators that must be off while this one is on, and the other way round; with a gap, that must have been off for so long. */
  interlocks: list(interlock(), { max: 32 }).default([]),
};

/** Type of the values, for kinds that leave it to the configuration. */
export const valueType = () => z.enum(['boolean', 'number', 'string']).default('number');
