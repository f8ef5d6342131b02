/** MCP9808, after DS25095A. Key `temperature` (°C). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import { type ThermometerData, thermometer } from '../families/thermometers/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** °C, by the bits of register 8 (register 5-7). */
const RESOLUTIONS = [0.5, 0.25, 0.125, 0.0625] as const;

const schema = sensorSection('mcp9808', () => ({
  ...i2cFields({ default: 0x18, min: 0x18, max: 0x1f }),
  resolution: z.literal(RESOLUTIONS).default(0.0625),
}));

type Mcp9808Config = ConfigOf<typeof schema>;

export const MCP9808: ThermometerData<Pick<Mcp9808Config, 'resolution'>> = {
  kind: 'mcp9808',
  addresses: [0x18, 0x1f],
  sample: 0x18,
  // 5.1.1: the manufacturer in register 6, the device in the upper byte of register 7.
  powerOn: { 6: 0x0054, 7: 0x0400, 8: 0x0300 },
  knownBy: { 6: 0xffff, 7: 0xff00 },
  turn: 1,
  temperature: 5,
  configBytes: 2,
  // Typically, at the finest resolution (table 5-4); nobody promises more.
  conversionMs: { typical: 250, longest: 300 },
  format: { bits: 13, lowestBit: 0, stepsPerDegree: 16, range: [-40, 125] },
  // At or above the critical limit, above the upper, below the lower one, which are all 0 after power-on.
  flags: (steps) => (steps >= 0 ? 0x8000 : 0) | (steps > 0 ? 0x4000 : 0) | (steps < 0 ? 0x2000 : 0),
  settings: ({ resolution }) => ({ register: 8, bytes: [RESOLUTIONS.indexOf(resolution)] }),
};

export const mcp9808 = defineSensor({ schema, ...thermometer(MCP9808) });
