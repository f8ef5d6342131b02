/** A user's own driver file; tank-level.mjs shows what it exports. Only it knows its keys. */
import { z } from 'zod';
import { existingFile, table } from '../../config/fields/fields.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('module', () => ({
  file: existingFile(),
  /** Given to the driver as it is. */
  options: table(z.string(), z.json().meta({ private: true })).default({}),
}));

export type ModuleConfig = ConfigOf<typeof schema>;

export const moduleSensor = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  valueType: () => undefined,
  reportsByEvent: () => true,
  userCode: ({ file }) => file,
});
