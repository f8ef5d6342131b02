/** Remote commands: which methods exist, what they may move, how often, and the key switch that stops them all. */
import { z } from 'zod';
import { duration, filePath, list, name, program, section, table, text, whole } from './fields.ts';
import { gpioLine } from './lines-and-ports.ts';

export const BUILT_IN_METHODS = [
  'getStatus',
  'readSensor',
  'setActuator',
  'getActuator',
  'pulse',
  'listMethods',
  'outboxStatus',
  'setLogLevel',
  'restart',
  'reboot',
  'diagnose',
  'rotateToken',
  'rotateProvisioningSecret',
] as const;

/** Below the 10 s that dashboards wait by default. */
const DEFAULT_DEADLINE = '8s';

const methodName = () => text(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, 'a method name: letters, digits, _, . or -');

const parameter = section({
  type: z.enum(['boolean', 'number', 'integer', 'string', 'object', 'array']),
  required: z.boolean().default(true),
  min: z.number().optional(),
  max: z.number().optional(),
  choices: list(z.union([z.string(), z.number(), z.boolean()]), { min: 1 }).optional(),
  description: z.string().max(500).optional(),
});

/** A method; for a built-in one only `enabled`, `deadline`, `allow` and `limit` can be given. */
const method = section({
  enabled: z.boolean().default(true),
  description: z.string().max(500).optional(),
  /** Sets this actuator, to `value` or to the parameter `value`. */
  actuator: name().optional(),
  value: z.union([z.boolean(), z.number(), z.string()]).optional(),
  /** Switches the actuator on for this long instead. */
  pulse: duration({ min: '1ms', max: '1h' }).optional(),
  /** Reads this sensor. */
  sensor: name().optional(),
  /** Runs a fixed program; `{parameter}` within an argument is replaced. Never through a shell. */
  command: section({
    program: program(),
    arguments: list(z.string(), { max: 64 }).default([]),
    /** Whether running it twice does no harm. */
    idempotent: z.boolean().default(false),
  }).optional(),
  /** Schema of the parameters, by name. */
  params: table(name(), parameter).optional(),
  deadline: duration({ min: '10ms', max: '10m' }).prefault(DEFAULT_DEADLINE),
  /** At most `times` within `per`. */
  limit: section({ times: whole(1, 1_000_000), per: duration({ min: '1s', max: '1d' }) }).optional(),
  /** For a built-in method: the actuators or sensors it may touch; all when not given. */
  allow: list(name()).optional(),
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
export type RpcParameterConfig = z.infer<typeof parameter>;
