/** A program. Keys are what it prints. */
import { program, programArguments, programWord, size, table, text } from '../../config/fields/fields.ts';
import { LINE_KEYS, lineFormatFields } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** A program that prints more than this is not a sensor. */
const DEFAULT_MAX_OUTPUT = '64kB';

const schema = sensorSection('command', {
  program: program(),
  arguments: programArguments().default([]),
  environment: table(text(/^[^=\0]+$/, 'the name of a variable'), programWord()).default({}),
  maxOutput: size({ max: '1MB' }).prefault(DEFAULT_MAX_OUTPUT),
  ...lineFormatFields,
});

export type CommandConfig = ConfigOf<typeof schema>;

export const command = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  ...LINE_KEYS,
  keepsTimes: true,
  remedy: (config) => `run ${config.program} by hand as the service’s user`,
});
