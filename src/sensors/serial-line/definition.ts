/** A sensor that prints lines on a serial port. Keys are what the lines say. */
import { z } from 'zod';
import { handedOn, size } from '../../config/fields/fields.ts';
import { serialPortFields } from '../../config/fields/lines-and-ports.ts';
import { LINE_KEYS, lineFormatFields, textEncoding } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Longer lines are noise: a sensor that lost its line end must not fill the memory. */
const DEFAULT_MAX_LINE = '4kB';

const schema = sensorSection('serial-line', {
  ...serialPortFields,
  ...lineFormatFields,
  encoding: textEncoding(),
  delimiter: z.string().min(1).max(8).default('\n'),
  maxLine: size({ min: '16B', max: '64kB' }).prefault(DEFAULT_MAX_LINE),
  /** Sent at each period, for sensors that speak only when asked; without it the sensor speaks by itself. */
  request: handedOn().max(1_024).optional(),
});

export type SerialLineConfig = ConfigOf<typeof schema>;

export const serialLine = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  ...LINE_KEYS,
  keepsTimes: true,
  reportsByEvent: ({ request }) => request === undefined,
  onSerialPort: (name, port) => `{ name: ${name}, kind: serial-line, port: ${port}, baudRate: 9600, format: json }`,
});
