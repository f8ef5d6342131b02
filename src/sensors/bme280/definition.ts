/** BME280. Keys `temperature` (°C), `pressure` (hPa), `humidity` (%). */
import { boschFields, boschKind } from '../families/bosch/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('bme280', () => boschFields);

export type Bme280Config = ConfigOf<typeof schema>;

export const bme280 = defineSensor({ schema, ...boschKind('bme280') });
