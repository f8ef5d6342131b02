/** Something only a program can move. Values are of the type that the configuration tells. */
import { valueType } from '../../config/fields/actuator-fields.ts';
import { duration, program, programArguments, section } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

const DEFAULT_TIMEOUT = '10s';
/** Beside the program's own time before the movement counts as failed. */
const DEADLINE_MARGIN_MS = 500;

const schema = actuatorSection('command', () => ({
  program: program(),
  /** Fixed; `{value}` within an argument is replaced. Never passes through a shell. */
  arguments: programArguments().default(['{value}']),
  valueType: valueType(),
  timeout: duration({ min: '10ms', max: '10m' }).prefault(DEFAULT_TIMEOUT),
  /** A program that prints the present value. */
  readBack: section({ program: program(), arguments: programArguments().default([]) }).optional(),
}));

export type CommandConfig = ConfigOf<typeof schema>;

export const command = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: (config) => config.valueType,
  isReadable: ({ readBack }) => readBack !== undefined,
  deadlineMs: ({ timeoutMs }) => timeoutMs + DEADLINE_MARGIN_MS,
  // A program that is run twice may do it twice.
  isIdempotent: false,
  hasOwnSupply: true,
});
