/** A satellite receiver or marine instruments on a serial line: the keys are those of the NMEA 0183 sentences that are read. */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { list, platformKey } from '../../config/fields/fields.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Sentences that are read and the keys they give; a key that several give comes from the first of them that gives it now. */
export const KEYS_OF = {
  RMC: ['latitude', 'longitude', 'speed', 'course'],
  GGA: ['latitude', 'longitude', 'altitude', 'satellites'],
  GLL: ['latitude', 'longitude'],
  VTG: ['speed', 'course'],
  ZDA: [],
  HDT: ['heading'],
  HDG: ['heading', 'headingMagnetic'],
  HDM: ['headingMagnetic'],
  VHW: ['waterSpeed', 'heading', 'headingMagnetic'],
  MWV: ['windAngle', 'windSpeed', 'windAngleTrue', 'windSpeedTrue'],
  MWD: ['windDirection', 'windDirectionMagnetic', 'windSpeedTrue'],
  DPT: ['depth', 'depthBelowSurface', 'depthBelowKeel'],
  DBT: ['depth'],
  MTW: ['waterTemperature'],
  /** Its keys are the transducers' names. */
  XDR: [],
} as const;

export type SentenceType = keyof typeof KEYS_OF;
export type NmeaKey = (typeof KEYS_OF)[SentenceType][number];

/** Sentences that tell whether there is a fix. */
export const FIX_SENTENCES: readonly SentenceType[] = ['RMC', 'GGA', 'GLL'];
const SENTENCE_TYPES = Object.keys(KEYS_OF) as SentenceType[];

const schema = sensorSection('nmea', () => ({
  ...serialPortFields,
  /** True when the receiver's own time stamps the position. */
  useReceiverTime: z.boolean().default(true),
  /** `optional` also takes sentences that have no check sum; a wrong one is never taken. */
  checksum: z.enum(['required', 'optional']).default('required'),
  /** Sentences that are read; by default all that are known. */
  sentences: list(z.enum(SENTENCE_TYPES), { min: 1 }).default(SENTENCE_TYPES),
  /** Names of the XDR transducers whose values are read, each under its name. */
  transducers: list(platformKey(), { max: 64 }).default([]),
}));

export type NmeaConfig = ConfigOf<typeof schema>;

export const nmea = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  keys: ({ sentences, transducers }) => {
    const fix = sentences.some((type) => FIX_SENTENCES.includes(type)) ? ['fix'] : [];
    return [...new Set([...fix, ...sentences.flatMap((type): readonly string[] => KEYS_OF[type]), ...transducers])];
  },
  valueType: (_config, key) => (key === 'fix' ? 'string' : 'number'),
  onSerialPort: {},
});
