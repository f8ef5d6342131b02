/** Remote commands: which methods exist, what they may move, how often, and the key switch that stops them all. */
import { z } from 'zod';
import type { ShapeType, ValueShape } from '../../values/value-shape.ts';
import { gpioLine } from '../fields/addresses.ts';
import {
  duration,
  filePath,
  list,
  name,
  onOff,
  pattern,
  program,
  programArguments,
  section,
  table,
  text,
  whole,
} from '../fields/fields.ts';
import { byteText, hexText } from '../fields/request-text.ts';

/** Below the 10 s that dashboards wait by default. */
const DEFAULT_DEADLINE = '8s';

const SHAPE_TYPES = [
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
] as const satisfies readonly ShapeType[];

const methodName = () => text(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, 'a method name: letters, digits, _, . or -');

/** The part of JSON Schema that host/value-shape.ts checks. */
const valueShape: z.ZodType<ValueShape> = z.strictObject({
  description: z.string().max(500).exactOptional(),
  type: z.union([z.enum(SHAPE_TYPES), list(z.enum(SHAPE_TYPES), { min: 1 })]).exactOptional(),
  enum: list(z.json(), { min: 1, max: 100 }).exactOptional(),
  get properties() {
    return table(z.string(), valueShape).exactOptional();
  },
  required: list(z.string()).exactOptional(),
  additionalProperties: z.boolean().exactOptional(),
  get items() {
    return valueShape.exactOptional();
  },
  maxItems: whole(0, 10_000).exactOptional(),
  minimum: z.number().exactOptional(),
  maximum: z.number().exactOptional(),
  minLength: whole(0, 65_536).exactOptional(),
  maxLength: whole(0, 65_536).exactOptional(),
  pattern: pattern().exactOptional(),
});

/** A method; for a built-in one only `enabled`, `deadline`, `allowed` and `mostPerMinute` can be given. */
const method = section({
  enabled: z.boolean().default(true),
  description: z.string().max(500).optional(),
  /** Sets this actuator, to `value` or to the parameter `value`. */
  actuator: name().optional(),
  value: z.union([onOff(), z.number(), z.string().max(1_024)]).optional(),
  /** Switches the actuator on for this long instead. */
  pulse: duration({ min: '1ms', max: '1h' }).optional(),
  /** Gives the present value alone, as dashboards' widgets expect it, in place of setting it. */
  read: z.boolean().default(false),
  /** Outputs by the pin numbers of the platform's GPIO panel: sets one by `{pin, enabled}`, or with `read` gives all; the reply is the whole map. */
  pins: table(text(/^\d{1,3}$/, 'a pin number of the panel'), name()).optional(),
  /** Reads this sensor; with `send` or `sendHex` its device is told this instead, such as the tare of a scale. */
  sensor: name().optional(),
  /** Command to the device of a sensor on a serial port, in its turn there; it is never repeated by itself. Each character is one byte. */
  send: byteText('sendHex').min(1).max(1_024).meta({ private: true }).optional(),
  /** The same in hex. */
  sendHex: hexText().max(4_096).meta({ private: true }).optional(),
  /** The answer that proves the command, a line of it; without it the bytes that have left do. */
  expect: pattern().optional(),
  /** Gives the value of this key of the sensor alone. */
  key: text(/^.{1,255}$/s, 'a key of the sensor').optional(),
  /** Runs a fixed program; `{parameter}` within an argument is replaced. Never through a shell. */
  command: section({
    program: program(),
    arguments: programArguments().default([]),
    /** True when running it twice does no harm. */
    idempotent: z.boolean().default(false),
    /** Its output is JSON, and alone the reply. */
    json: z.boolean().default(false),
  }).optional(),
  /** The parameters' JSON Schema. */
  params: valueShape.optional(),
  deadline: duration({ min: '10ms', max: '10m' }).prefault(DEFAULT_DEADLINE),
  mostPerMinute: whole(1, 100_000).optional(),
  /** Which of the possible parameters are allowed here, as JSON Schema. */
  allowed: valueShape.optional(),
});

export const rpcSchema = section({
  enabled: z.boolean().default(true),
  methods: table(methodName(), method).default({}),
  /** While it holds, nothing remote moves anything. */
  lockout: section({
    /** Holds while this file exists. */
    file: filePath().optional(),
    /** Holds while this line is active (a key switch). */
    line: gpioLine().optional(),
    activeLow: z.boolean().default(false),
  }).prefault({}),
});

export type RpcConfig = z.infer<typeof rpcSchema>;
export type RpcMethodConfig = z.infer<typeof method>;
