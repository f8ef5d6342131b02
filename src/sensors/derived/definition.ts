/** Values made of those of other sensors, by expressions. Keys are those of `values`. */
import { duration, expression, platformKey, table } from '../../config/fields/fields.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** An energy that is written this often costs a card nothing, and a power cut a minute of it. */
const DEFAULT_SAVE_EVERY = '1m';

const schema = sensorSection('derived', () => ({
  /** By key: an expression of other keys, as the platform knows them. */
  values: table(platformKey(), expression()),
  /** For `integral`: how often its sum is written and shown. */
  saveEvery: duration({ min: '1s', max: '1h' }).prefault(DEFAULT_SAVE_EVERY),
}));

export type DerivedConfig = ConfigOf<typeof schema>;

export const derived = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  keys: ({ values }) => Object.keys(values),
  valueType: () => undefined,
  reportsByEvent: () => true,
  faults: ({ values }, path) =>
    Object.keys(values).length > 0
      ? []
      : [{ path: [...path, 'values'], problem: 'no value', expected: 'at least one' }],
  remedy: () => 'look at the sensors that give its keys',
});
