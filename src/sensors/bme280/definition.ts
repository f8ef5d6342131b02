/** BME280. Keys `temperature` (°C), `pressure` (hPa), `humidity` (%). */

import { boschFields, boschMs, boschScan, UNITS } from '../families/bosch/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('bme280', boschFields);

export type Bme280Config = ConfigOf<typeof schema>;

export const bme280 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  minReadMs: ({ oversampling }) => boschMs(oversampling, true),
  scan: boschScan('bme280'),
});
