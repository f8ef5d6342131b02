/** Configuration of the simulated board. JSON or YAML; everything has a default, so that an empty file is an empty board. */
import { z } from 'zod';
import { AgentError } from '../../errors/agent-error.ts';
import { signalSchema } from './signals.ts';

/** The telemetry keys that the record names, when report rules rename the driver's own: driver's key → platform's key. */
const keys = z.record(z.string(), z.string()).default({});

const gpioChip = z.strictObject({
  chip: z.string().default('gpiochip0'),
  label: z.string().default('simulated'),
  lines: z.int().min(1).max(512).default(32),
  /** Offset → name. */
  names: z.record(z.string(), z.string()).default({}),
  /** Lines held by somebody else: offset → who. */
  held: z.record(z.string(), z.string()).default({}),
  inputs: z
    .array(z.strictObject({ offset: z.int().min(0), key: z.string().optional(), signal: signalSchema }))
    .default([]),
});

const i2cChip = z.strictObject({
  kind: z.string(),
  address: z.int().min(0x03).max(0x77),
  signals: z.record(z.string(), signalSchema).default({}),
  keys,
  /** Options of a chip of that kind: `shuntOhms`, `registers`. */
  options: z.record(z.string(), z.unknown()).default({}),
});

const i2cBus = z.strictObject({
  bus: z.int().min(0).max(255),
  /** Answers like an adapter that cannot do plain transfers. */
  smbusOnly: z.boolean().default(false),
  chips: z.array(i2cChip).default([]),
});

const modbusUnit = z.strictObject({
  /** Address → signal, as raw register values. */
  holding: z.record(z.string(), signalSchema).default({}),
  input: z.record(z.string(), signalSchema).default({}),
  coil: z.record(z.string(), signalSchema).default({}),
  discrete: z.record(z.string(), signalSchema).default({}),
});

/** By unit id. */
const modbusUnits = z.record(z.string(), modbusUnit);

const hexBytes = z.string().regex(/^([0-9a-f]{2})+$/);

const talk = z.discriminatedUnion('kind', [
  /** A sensor that prints a line every so often, or one for each line it is sent. */
  z.strictObject({
    kind: z.literal('lines'),
    format: z.enum(['json', 'csv', 'text']).default('json'),
    /** For `text`: `{key}` is replaced. */
    template: z.string().default(''),
    periodMs: z.number().positive().optional(),
    terminator: z.string().default('\n'),
    values: z.record(z.string(), z.strictObject({ signal: signalSchema, digits: z.int().min(0).max(9).default(2) })),
    keys,
  }),
  z.strictObject({
    kind: z.literal('nmea'),
    periodMs: z.number().positive().default(1000),
    latitude: signalSchema,
    longitude: signalSchema,
    speedKnots: signalSchema,
    keys,
  }),
  z.strictObject({ kind: z.literal('modbus'), framing: z.enum(['rtu', 'ascii']).default('rtu'), units: modbusUnits }),
  /** Sends the same bytes over and over. */
  z.strictObject({ kind: z.literal('bytes'), hex: hexBytes, periodMs: z.number().positive() }),
  /** Answers each of these requests, both as hexadecimal text. */
  z.strictObject({ kind: z.literal('answers'), answers: z.record(hexBytes, hexBytes) }),
  /** Sends back what it gets. */
  z.strictObject({ kind: z.literal('echo') }),
  /** Keeps what it gets in the record, and answers each line with `reply` when there is one. */
  z.strictObject({ kind: z.literal('listener'), reply: z.string().optional() }),
]);

const boardSchema = z.strictObject({
  version: z.literal(1).default(1),
  seed: z.int().default(1),
  gpio: z.array(gpioChip).default([]),
  i2c: z.array(i2cBus).default([]),
  serial: z.array(z.strictObject({ port: z.string(), pty: z.boolean().default(true), talk })).default([]),
  modbusTcp: z
    .array(
      z.strictObject({
        host: z.string(),
        port: z.int().min(1).max(65_535),
        framing: z.enum(['tcp', 'rtu', 'ascii']).default('tcp'),
        /** Where it really listens, on 127.0.0.1; 0 takes any free port, which the agent asks for. */
        listenOn: z.int().min(0).max(65_535).default(0),
        units: modbusUnits,
      }),
    )
    .default([]),
  http: z
    .array(
      z.strictObject({
        /** With its port, as in an address. */
        host: z.string(),
        /** Answer to every request; `{key}` is replaced. */
        body: z.string(),
        values: z.record(
          z.string(),
          z.strictObject({ signal: signalSchema, digits: z.int().min(0).max(9).default(2) }),
        ),
        keys,
      }),
    )
    .default([]),
  oneWire: z
    .array(z.strictObject({ id: z.string().regex(/^[0-9a-f]{2}-[0-9a-f]{12}$/), signal: signalSchema, keys }))
    .default([]),
  /** Devices of the kernel's sensors, by their files: texts, or numbers of a signal. */
  kernel: z
    .array(
      z.strictObject({
        of: z.enum(['iio', 'hwmon']),
        name: z.string().min(1),
        place: z.string().min(1),
        files: z.record(
          z.string(),
          z.union([z.string(), z.strictObject({ signal: signalSchema, factor: z.number().default(1) })]),
        ),
      }),
    )
    .default([]),
  pwm: z
    .array(z.strictObject({ chip: z.union([z.int().min(0), z.string()]), channels: z.int().min(1).max(64) }))
    .default([]),
});

export type BoardConfig = z.infer<typeof boardSchema>;
/** As it is written, with defaults left out. */
export type BoardConfigInput = z.input<typeof boardSchema>;
export type SerialTalkConfig = z.infer<typeof talk>;
export type SerialTalkConfigInput = z.input<typeof talk>;
/** By unit id. */
export type ModbusUnitsConfig = z.infer<typeof modbusUnits>;

/** @throws AgentError `board/bad-config` (stop) with every fault. */
export function parseBoardConfig(input: unknown): BoardConfig {
  const parsed = boardSchema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new AgentError('board/bad-config', `the board's configuration is wrong: ${faults.join('; ')}`, {
    recovery: 'stop',
  });
}
