/** Something that is told in words over a serial line. Values are of the type that the configuration tells. */
import { valueType } from '../../config/fields/actuator-fields.ts';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { duration, pattern, text } from '../../config/fields/fields.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

const schema = actuatorSection('serial-write', {
  ...serialPortFields,
  valueType: valueType(),
  /** `{value}` is replaced; each other character is one byte. */
  template: text(
    /^(?=[\s\S]*\{value\})[^\u0100-\uffff]*$/,
    'a template with {value} in it, of characters up to U+00FF, each one byte',
  ).meta({
    private: true,
  }),
  /** The answer that means success; without it a complete write does. */
  expect: pattern().optional(),
  replyTimeout: duration({ min: '10ms', max: '1m' }).prefault('1s'),
});

export type SerialWriteConfig = ConfigOf<typeof schema>;

export const serialWrite = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: (config) => config.valueType,
  isReadable: () => false,
  deadlineMs: ({ replyTimeoutMs }, usualMs) => replyTimeoutMs + usualMs,
  // A text that is told twice may be done twice.
  isIdempotent: false,
  hasOwnSupply: true,
});
