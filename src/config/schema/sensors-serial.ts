/** Sensors on serial lines, one-wire and Modbus. */
import { z } from 'zod';
import { handedOn, list, pattern, platformKey, section, size, table, text, whole } from './fields.ts';
import { MODBUS_TYPES, modbusConnection, serialPortFields } from './lines-and-ports.ts';
import { registerMeaning, sensorFields } from './sensor-fields.ts';

/** Longer lines are noise: a sensor that lost its line end must not fill the memory. */
const DEFAULT_MAX_LINE = '4kB';
/** Reading a few unused registers costs less than another request (2 bytes each against 8 bytes and a turn-around). */
const DEFAULT_MAX_GAP = 8;

/** How one line, or a program's output, becomes keys and values. */
export const lineFormatFields = {
  format: z.enum(['json', 'csv', 'regex', 'number']).default('json'),
  /** For `csv`: the key of each column, in order; an empty name skips one. */
  columns: list(z.string().max(255)).optional(),
  separator: z.string().length(1).default(','),
  /** For `regex`: named groups are keys. */
  pattern: pattern().optional(),
  /** For `number`: the key. */
  key: platformKey().default('value'),
};

/** Keys are what the lines say. */
export const serialLine = section({
  ...sensorFields,
  kind: z.literal('serial-line'),
  ...serialPortFields,
  ...lineFormatFields,
  delimiter: z.string().min(1).max(8).default('\n'),
  maxLine: size({ min: '16B', max: '64kB' }).prefault(DEFAULT_MAX_LINE),
  /** Sent at each period, for sensors that speak only when asked; without it the sensor speaks by itself. */
  request: handedOn().max(1_024).optional(),
});

/** Keys `latitude`, `longitude`, `altitude`, `speed`, `course`, `satellites`, `fix`. */
export const nmea = section({
  ...sensorFields,
  kind: z.literal('nmea'),
  ...serialPortFields,
  /** Whether the receiver's own time stamps the readings. */
  useReceiverTime: z.boolean().default(true),
});

/** One key per register. */
export const modbus = section({
  ...sensorFields,
  kind: z.literal('modbus'),
  connection: modbusConnection(),
  /** Unit (slave) address. */
  unitId: whole(0, 255).default(1),
  registers: table(
    platformKey(),
    section({
      table: z.enum(['holding', 'input', 'coil', 'discrete']).default('holding'),
      /** From 0, as on the wire; not 40001. */
      address: whole(0, 65_535),
      type: z.enum(MODBUS_TYPES).default('uint16'),
      /** Which 16-bit word of a longer number comes first. */
      wordOrder: z.enum(['big', 'little']).default('big'),
      byteOrder: z.enum(['big', 'little']).default('big'),
      /** For `bool` in a 16-bit register. */
      bit: whole(0, 15).optional(),
      /** For `string`: its registers. */
      length: whole(1, 125).optional(),
      ...registerMeaning,
    }),
  ),
  /** Registers this far apart are still read in one request. */
  maxGap: whole(0, 100).default(DEFAULT_MAX_GAP),
});

/** Key `temperature`. */
export const ds18b20 = section({
  ...sensorFields,
  kind: z.literal('ds18b20'),
  /** As /sys/bus/w1/devices names it. */
  id: text(/^28-[0-9a-f]{12}$/, 'an id such as 28-0316a2794aff, from /sys/bus/w1/devices').optional(),
  resolution: whole(9, 12).optional(),
});
