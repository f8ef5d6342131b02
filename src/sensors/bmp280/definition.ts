/** BMP280: a BME280 without humidity. Keys `temperature` (°C), `pressure` (hPa). */
import { boschFields, boschKind } from '../families/bosch/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('bmp280', () => boschFields);

export type Bmp280Config = ConfigOf<typeof schema>;

export const bmp280 = defineSensor({ schema, ...boschKind('bmp280') });
