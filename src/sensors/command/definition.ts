/** A program. Keys are what it prints. */
import { list, program, programArguments, programWord, size, table, text, whole } from '../../config/fields/fields.ts';
import { LINE_KEYS, lineFormatFields, textEncoding } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** A program that prints more than this is not a sensor. */
const DEFAULT_MAX_OUTPUT = '64kB';

const schema = sensorSection('command', () => ({
  program: program(),
  arguments: programArguments().default([]),
  environment: table(text(/^[^=\0]+$/, 'the name of a variable'), programWord()).default({}),
  /** Exit statuses with which the output is good. */
  goodStatus: list(whole(0, 255), { min: 1, max: 256 }).default([0]),
  maxOutput: size({ max: '1MB' }).prefault(DEFAULT_MAX_OUTPUT),
  ...lineFormatFields,
  encoding: textEncoding(),
}));

export type CommandConfig = ConfigOf<typeof schema>;

export const command = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  ...LINE_KEYS,
  keepsTimes: true,
  remedy: (config) => `run ${config.program} by hand as the service’s user`,
});
