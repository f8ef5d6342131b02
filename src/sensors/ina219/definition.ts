/** INA219. Keys `voltage` (V), `current` (A), `power` (W). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { type Finding, finding } from '../../config/fields/findings.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Most breakout boards carry a 0.1 ohm shunt. */
const DEFAULT_SHUNT_OHMS = 0.1;
/** 0.1 ohm at the chip's greatest shunt voltage of 320 mV. */
const DEFAULT_MAX_AMPERES = 3.2;
/** The shunt's amplifier ends at 320 mV (SBOS448G, table 8-5): it would show its end for any greater current. */
const MAX_SHUNT_VOLTS = 0.32;
/** Two conversions of 586 µs at most (section 6.5). */
export const CONVERSION_MS = 1.2;
export const UNITS = { voltage: 'V', current: 'A', power: 'W' } as const;

const schema = sensorSection('ina219', () => ({
  ...i2cFields({ default: 0x40, min: 0x40, max: 0x4f }),
  shuntOhms: z.number().positive().max(100).default(DEFAULT_SHUNT_OHMS),
  maxAmperes: z.number().positive().max(1_000).default(DEFAULT_MAX_AMPERES),
  busRangeVolts: z.literal([16, 32]).default(32),
}));

export type Ina219Config = ConfigOf<typeof schema>;

export const ina219 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  // Steps of 4 mV; of 0.1 mA and 2 mW with the usual shunt (SBOS448G, section 8.5.1).
  digits: { voltage: 3, current: 4, power: 3 },
  minReadMs: () => CONVERSION_MS,
  faults: shuntFaults,
  scan: {
    addresses: addresses(0x40, 0x4f),
    isCertain: false,
    turn: 2,
    // TI SBOS448, 8.6.2.1: configuration 0x399F after power-on; ours differs from it in ranges and mode only.
    looksLike: async (bus, address, signal) =>
      ((await bus.readWord(address, 0, signal)) & 0xc7f8) === (0x399f & 0xc7f8),
  },
});

function shuntFaults({ shuntOhms, maxAmperes }: Ina219Config, path: ConfigPath): Finding[] {
  const max = Number((MAX_SHUNT_VOLTS / shuntOhms).toPrecision(12));
  if (maxAmperes <= max) return [];
  const expected = `at most ${Math.floor(max * 1_000) / 1_000}, or a smaller shunt`;
  return [finding([...path, 'maxAmperes'], `more than 320 mV at ${shuntOhms} ohm:`, expected)];
}
