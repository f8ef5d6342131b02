/** TMP102, after SBOS397. Key `temperature` (°C). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import { type ThermometerData, thermometer } from '../families/thermometers/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('tmp102', () => ({
  ...i2cFields({ default: 0x48, min: 0x48, max: 0x4b }),
  extended: z.boolean().default(false),
}));

type Tmp102Config = ConfigOf<typeof schema>;

export const TMP102: ThermometerData<Pick<Tmp102Config, 'extended'>> = {
  kind: 'tmp102',
  addresses: [0x48, 0x4b],
  sample: 0x49,
  // 7.5.3: bits R1 and R0 of the configuration always read 1, its lowest four bits 0; AL reads 1 while nothing is too hot (table 8).
  powerOn: { 1: 0x60a0 },
  knownBy: { 1: 0x600f },
  alwaysSet: 0x6020,
  turn: 4,
  temperature: 0,
  configBytes: 2,
  conversionMs: { typical: 26, longest: 35 },
  format: { bits: 12, lowestBit: 4, stepsPerDegree: 16, range: [-55, 127.875], overload: 127.9375 },
  // "Extended Mode": EM in the configuration, and bit 0 of the temperature.
  extended: { asked: 0x0010, said: 0x0001, format: { bits: 13, lowestBit: 3, stepsPerDegree: 16, range: [-55, 150] } },
  // 8 Hz instead of the power-on 4 Hz (table 8). OS and AL tell of the present state, not of a setting.
  settings: ({ extended }) => ({ register: 1, bytes: [0x60, extended ? 0xf0 : 0xe0], lookedFor: 0x7fdf }),
};

export const tmp102 = defineSensor({ schema, ...thermometer(TMP102) });
