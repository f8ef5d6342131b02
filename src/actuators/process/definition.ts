/** An output of a program that is a driver for as long as it lives. A sensor of the same program, arguments and environment shares it. */
import { z } from 'zod';
import { valueType } from '../../config/fields/actuator-fields.ts';
import { duration, program, programArguments, programWord, table, text } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

const DEFAULT_TIMEOUT = '5s';
/** Beside the program's own time before the movement counts as failed. */
const DEADLINE_MARGIN_MS = 500;

const schema = actuatorSection('process', () => ({
  program: program(),
  arguments: programArguments().default([]),
  /** Beside PATH, LANG and PYTHONUNBUFFERED; nothing of the agent's own is given to it. */
  environment: table(text(/^[^=\0]+$/, 'the name of a variable'), programWord()).default({}),
  /** Name of the output in commands and states. Default: its own name. */
  member: text(/^[^\p{Cc}]{1,255}$/u, 'a name of 1 to 255 characters, without control characters').optional(),
  valueType: valueType(),
  /** Time that the program may take to answer a command. */
  timeout: duration({ min: '10ms', max: '10m' }).prefault(DEFAULT_TIMEOUT),
  /** The program tells what the output does, in its answers or by itself: `{"state": {"pump": true}}`. */
  readBack: z.boolean().default(false),
}));

export type ProcessConfig = ConfigOf<typeof schema>;

export const processOutput = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: (config) => config.valueType,
  isReadable: ({ readBack }) => readBack,
  deadlineMs: ({ timeoutMs }) => timeoutMs + DEADLINE_MARGIN_MS,
  isIdempotent: true,
  hasOwnSupply: true,
});
