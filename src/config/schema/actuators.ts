/** Every kind of actuator: where it is, what it may never do, and what it does when nobody is in charge. */
import { z } from 'zod';
import { gpioLine, MODBUS_TYPES, modbusConnection, serialPortFields } from '../fields/lines-and-ports.ts';
import {
  duration,
  frequency,
  list,
  name,
  onOff,
  pattern,
  platformKey,
  program,
  programArguments,
  section,
  text,
  whole,
} from '../fields.ts';

/** A relay that is held by a pulse is a relay that was forgotten. */
const DEFAULT_MAX_PULSE = '1m';
/** Above hearing for motors, far below what a relay driver's optocoupler follows. */
const DEFAULT_PWM_FREQUENCY = '1kHz';
const DEFAULT_COMMAND_TIMEOUT = '10s';

/** true and false (also written on and off), a number, or text. */
const actuatorValue = () => z.union([onOff(), z.number(), z.string().max(1_024)]);

const actuatorFields = {
  name: name(),
  enabled: z.boolean().default(true),
  /** Shared attribute with the desired state; default: the actuator's name. */
  desiredKey: platformKey().optional(),
  /** Client attribute and telemetry key with the real state; default: the name and `State`. */
  stateKey: platformKey().optional(),
  /** Whether the last desired state returns after a restart; otherwise `safe.start` holds until someone says more. */
  restore: z.boolean().default(false),
  /** What happens when nobody is in charge; what is not given leaves the actuator as it is. */
  safe: section({
    start: actuatorValue().optional(),
    /** An ordinary stop of the service. */
    stop: actuatorValue().optional(),
    /** Set from outside the agent when it ended in any other way. */
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
    /** The longest time on; then it is switched off. */
    maxOn: duration({ min: '10ms', max: '30d' }).optional(),
    maxSwitchesPerHour: whole(1, 100_000).optional(),
  }).prefault({}),
  /** Names of actuators that must be off while this one is on, and the other way round. */
  interlocks: list(name(), { max: 32 }).default([]),
};

/** Values are true and false. */
const gpioOutput = section({
  ...actuatorFields,
  kind: z.literal('gpio-output'),
  line: gpioLine(),
  activeLow: z.boolean().default(false),
  /** The longest pulse anyone may ask for. */
  maxPulse: duration({ min: '1ms', max: '1h' }).prefault(DEFAULT_MAX_PULSE),
});

/** Values are duty cycles in percent. */
const pwm = section({
  ...actuatorFields,
  kind: z.literal('pwm'),
  /** N of /sys/class/pwm/pwmchipN. */
  chip: whole(0, 255).default(0),
  channel: whole(0, 31),
  frequency: frequency({ min: '1Hz', max: '1MHz' }).prefault(DEFAULT_PWM_FREQUENCY),
  inverted: z.boolean().default(false),
});

const valueType = () => z.enum(['boolean', 'number', 'string']).default('number');

const serialWrite = section({
  ...actuatorFields,
  kind: z.literal('serial-write'),
  ...serialPortFields,
  valueType: valueType(),
  /** `{value}` is replaced. */
  template: text(/\{value\}/, 'a template with {value} in it').meta({ private: true }),
  /** The answer that means success; without it a complete write does. */
  expect: pattern().optional(),
  replyTimeout: duration({ min: '10ms', max: '1m' }).prefault('1s'),
});

const modbusWrite = section({
  ...actuatorFields,
  kind: z.literal('modbus-write'),
  connection: modbusConnection(),
  unitId: whole(0, 255).default(1),
  table: z.enum(['holding', 'coil']).default('holding'),
  address: whole(0, 65_535),
  type: z.enum(MODBUS_TYPES).default('uint16'),
  wordOrder: z.enum(['big', 'little']).default('big'),
  byteOrder: z.enum(['big', 'little']).default('big'),
  /** value = register × scale + offset, as for the sensor. */
  scale: z.number().default(1),
  offset: z.number().default(0),
  readBack: z.boolean().default(true),
});

const commandActuator = section({
  ...actuatorFields,
  kind: z.literal('command'),
  program: program(),
  /** Fixed; `{value}` within an argument is replaced. Never passes through a shell. */
  arguments: programArguments().default(['{value}']),
  valueType: valueType(),
  timeout: duration({ min: '10ms', max: '10m' }).prefault(DEFAULT_COMMAND_TIMEOUT),
  /** A program that prints the present value. */
  readBack: section({ program: program(), arguments: programArguments().default([]) }).optional(),
});

export const actuatorSchema = z
  .discriminatedUnion('kind', [gpioOutput, pwm, serialWrite, modbusWrite, commandActuator])
  .transform(withKeys);

export type ActuatorConfig = z.infer<typeof actuatorSchema>;
export type ActuatorKind = ActuatorConfig['kind'];
export type ActuatorConfigOf<K extends ActuatorKind> = Extract<ActuatorConfig, { readonly kind: K }>;
export type ActuatorValue = boolean | number | string;

function withKeys<T extends { readonly name: string; readonly desiredKey?: string; readonly stateKey?: string }>(
  actuator: T,
): T & { readonly desiredKey: string; readonly stateKey: string } {
  return { ...actuator, desiredKey: actuator.desiredKey ?? actuator.name, stateKey: actuator.stateKey ?? `${actuator.name}State` };
}
