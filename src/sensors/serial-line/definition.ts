/** A sensor that prints lines on a serial port. Keys are what the lines say. */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { channelFaults, channelKeys, channels } from '../../config/fields/channels.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, list, platformKey, secretFields, section, size, table, whole } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { check, frame, frameFaults, frameField } from '../../config/fields/frames.ts';
import { formatDuration } from '../../config/fields/quantity.ts';
import { byteText, hexText } from '../../config/fields/request-text.ts';
import { CIPHER_KEY } from '../families/ciphers/definition.ts';
import { LINE_KEYS, lineFormatFields, textEncoding } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Longer lines are noise: a sensor that lost its line end must not fill the memory. */
const DEFAULT_MAX_LINE = '4kB';

const steps = () =>
  list(
    section({
      /** Each character is one byte. */
      send: byteText('sendHex').min(1).max(1_024).meta({ private: true }).optional(),
      /** The same in hex. */
      sendHex: hexText().max(4_096).meta({ private: true }).optional(),
      pause: duration({ max: '10m' }).prefault('0s'),
    }),
    { max: 16 },
  ).default([]);

const schema = sensorSection('serial-line', () => ({
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
  /** Key of a P1 port that encrypts its telegrams, as in Luxembourg (GUEK), which the grid operator gives to its customer. */
  ...secretFields('encryptionKey', CIPHER_KEY),
  /** Authentication key of a P1 port that encrypts (GAK). Without it, the one that Luxembourg has published, else the check sum. */
  ...secretFields('authenticationKey', CIPHER_KEY),
  maxLine: size({ min: '16B', max: '64kB' }).prefault(DEFAULT_MAX_LINE),
  /** Sent at each period, for sensors that speak only when asked; without it the sensor speaks by itself. Each character is one byte. */
  request: byteText('requestHex').max(1_024).meta({ private: true }).optional(),
  /** The same in hex. */
  requestHex: hexText().max(4_096).meta({ private: true }).optional(),
  /** How long an answer is waited for on a port that others use too; alone it is the deadline. */
  responseTimeout: duration({ min: '10ms', max: '1m' }).prefault('1s'),
  /** Commands that wake the device before it is asked, each with a pause behind it in which the port is free for others. */
  before: steps(),
  /** Commands behind each read, whether it succeeded or not, and before the agent stops. */
  after: steps(),
  /** More lines than one answer a request: so many, or until the device is silent for so long. */
  answers: section({
    count: whole(1, 1_000).optional(),
    idle: duration({ min: '10ms', max: '1m' }).prefault('200ms'),
  }).optional(),
}));

export type SerialLineConfig = ConfigOf<typeof schema>;

export const serialLine = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  ...LINE_KEYS,
  keys,
  valueType: (config) => (config.fields === undefined ? LINE_KEYS.valueType(config) : undefined),
  keepsTimes: true,
  waitMs: pausesMs,
  reportsByEvent: (config) => !isAsked(config),
  faults,
  onSerialPort: { format: 'json' },
});

/** True for a device that speaks only when it is asked. */
function isAsked({ request, requestHex }: Pick<SerialLineConfig, 'request' | 'requestHex'>): boolean {
  return request !== undefined || requestHex !== undefined;
}

function pausesMs({ before, after }: Pick<SerialLineConfig, 'before' | 'after'>): number {
  return [...before, ...after].reduce((total, { pauseMs }) => total + pauseMs, 0);
}

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
    ...cipherFaults(config, path),
    ...stepFaults(config, path),
    ...(isTwice ? [findingAtKey([...path, 'requestHex'], 'requestHex beside request', 'one of them')] : []),
  ];
}

function cipherFaults({ encryptionKey, authenticationKey, frame: of }: SerialLineConfig, path: ConfigPath): Finding[] {
  if (encryptionKey === undefined)
    return authenticationKey === undefined ? [] : [noEffect(path, 'authenticationKey', 'encryptionKey beside it')];
  return of?.start !== undefined && of.end !== undefined
    ? []
    : [noEffect(path, 'encryptionKey', 'preset: dsmr, or the frame of a P1 port')];
}

function stepFaults(config: SerialLineConfig, path: ConfigPath): Finding[] {
  const pauses = pausesMs(config);
  const whole = (['before', 'after'] as const).flatMap((when) => {
    const steps = config[when];
    if (steps.length > 0 && !isAsked(config)) return [noEffect(path, when, 'a request: the device is asked behind it')];
    return steps.flatMap(({ send, sendHex }, index) => {
      const at = [...path, when, index];
      if (send === undefined && sendHex === undefined) return [findingAtKey(at, 'sends nothing', 'send or sendHex')];
      return send !== undefined && sendHex !== undefined
        ? [findingAtKey([...at, 'sendHex'], 'sendHex beside send', 'one of them')]
        : [];
    });
  });
  if (pauses === 0) return whole;
  const problem = `pauses of ${formatDuration(pauses)} do not fit into the`;
  const at = config.givenDeadlineMs === undefined ? 'period' : 'deadline';
  return pauses < (config.givenDeadlineMs ?? config.periodMs)
    ? whole
    : [...whole, findingAtKey([...path, at], problem, `a longer ${at}`, { value: at })];
}
