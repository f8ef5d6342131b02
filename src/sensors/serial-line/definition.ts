/** A sensor that prints lines on a serial port. Keys are what the lines say. */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { channelFaults, channelKeys, channels } from '../../config/fields/channels.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, platformKey, section, size, table, whole } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { check, frame, frameFaults, frameField } from '../../config/fields/frames.ts';
import { byteText, hexText } from '../../config/fields/request-text.ts';
import { LINE_KEYS, lineFormatFields, textEncoding } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Longer lines are noise: a sensor that lost its line end must not fill the memory. */
const DEFAULT_MAX_LINE = '4kB';

const schema = sensorSection('serial-line', {
  /** Device whose options are known, one file of the folder presets; options of the sensor itself stand in their place. */
  preset: z.string().min(1).max(64).optional(),
  /** Which of the variants that the preset's page names the device is; without it the first. */
  variant: z.string().min(1).max(64).optional(),
  ...serialPortFields,
  ...lineFormatFields,
  encoding: textEncoding(),
  delimiter: z.string().min(1).max(8).default('\n'),
  /** Frames of bytes instead of lines; without `fields` they are text, of which each line is read. */
  frame: frame.optional(),
  fields: table(platformKey(), frameField).optional(),
  /** Meters that a frame of text speaks for, by channel. */
  channels: channels.optional(),
  /** A line or frame whose check sum is wrong gives nothing. */
  check: check.optional(),
  maxLine: size({ min: '16B', max: '64kB' }).prefault(DEFAULT_MAX_LINE),
  /** Sent at each period, for sensors that speak only when asked; without it the sensor speaks by itself. Each character is one byte. */
  request: byteText('requestHex').max(1_024).meta({ private: true }).optional(),
  /** The same in hex. */
  requestHex: hexText().max(4_096).meta({ private: true }).optional(),
  /** More lines than one answer a request: so many, or until the device is silent for so long. */
  answers: section({
    count: whole(1, 1_000).optional(),
    idle: duration({ min: '10ms', max: '1m' }).prefault('200ms'),
  }).optional(),
});

export type SerialLineConfig = ConfigOf<typeof schema>;

export const serialLine = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  ...LINE_KEYS,
  keys,
  valueType: (config) => (config.fields === undefined ? LINE_KEYS.valueType(config) : undefined),
  keepsTimes: true,
  reportsByEvent: ({ request, requestHex }) => request === undefined && requestHex === undefined,
  faults,
  onSerialPort: { format: 'json' },
});

/** Keys that a whole answer has, where the configuration tells them. */
function keys(config: SerialLineConfig): readonly string[] | undefined {
  if (config.fields !== undefined) return Object.keys(config.fields);
  const ofLines = LINE_KEYS.keys(config);
  return config.channels === undefined ? ofLines : ofLines && [...ofLines, ...channelKeys(config.channels)];
}

function faults(config: SerialLineConfig, path: ConfigPath): Finding[] {
  const isTwice = config.request !== undefined && config.requestHex !== undefined;
  return [
    ...(config.fields === undefined ? LINE_KEYS.faults(config, path) : []),
    ...frameFaults(config, path),
    ...channelFaults(config, path),
    ...(config.variant !== undefined && config.preset === undefined
      ? [noEffect(path, 'variant', 'a preset that has variants')]
      : []),
    ...(isTwice ? [findingAtKey([...path, 'requestHex'], 'requestHex beside request', 'one of them')] : []),
  ];
}
