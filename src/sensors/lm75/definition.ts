/** LM75 and its descendants, after LM75B (NXP) rev. 6.1. Key `temperature` (°C). */
import { i2cFields } from '../../config/fields/addresses.ts';
import { type ThermometerData, thermometer } from '../families/thermometers/definition.ts';
import { defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('lm75', () => i2cFields({ default: 0x48, min: 0x48, max: 0x4f }));

export const LM75: ThermometerData = {
  kind: 'lm75',
  addresses: [0x48, 0x4f],
  sample: 0x4f,
  // Hysteresis 75 °C and limit 80 °C.
  powerOn: { 2: 0x4b00, 3: 0x5000 },
  knownBy: { 2: 0xffff, 3: 0xffff },
  turn: 5,
  temperature: 0,
  configBytes: 1,
  // The slowest descendant: LM75, Texas Instruments SNIS153.
  conversionMs: { typical: 100, longest: 300 },
  // A chip with 9 bits leaves the lower ones 0, and ends at 127.5 °C.
  format: { bits: 11, lowestBit: 5, stepsPerDegree: 8, range: [-55, 127.375], overload: 127.875 },
};

export const lm75 = defineSensor({ schema, ...thermometer(LM75) });
