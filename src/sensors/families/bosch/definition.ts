/** Parts that the definitions of Bosch's BME280 and BMP280 share: addresses, options, the time of a measurement, the identity register. */
import { z } from 'zod';
import { i2cFields } from '../../../config/fields/addresses.ts';
import { section } from '../../../config/fields/fields.ts';
import { addresses, type ChipScan } from '../../kind/definition.ts';

const oversampling = () => z.literal([1, 2, 4, 8, 16]).default(1);

export const boschFields = {
  ...i2cFields({ default: 0x76, min: 0x76, max: 0x77 }),
  oversampling: section({ temperature: oversampling(), pressure: oversampling(), humidity: oversampling() }).prefault(
    {},
  ),
  filter: z.literal([0, 2, 4, 8, 16]).default(0),
};

/** Content of `id` (BST-BME280-DS001 5.4.1, BST-BMP280-DS001 4.3.1), also of the other chip where one of the two was expected. */
export const CHIP_ID = { bme280: 0x60, bmp280: 0x58 } as const;
const ID_REGISTER = 0xd0;

export const UNITS = { temperature: '°C', pressure: 'hPa', humidity: '%' } as const;

/** Resolution 0.01 °C, 0.18 Pa, 0.008 %RH (BST-BME280-DS002, table 1). */
const DIGITS = { temperature: 2, pressure: 2, humidity: 2 } as const;

/** At most (DS002, appendix B, section 9.1). */
export function boschMs(
  { temperature, pressure, humidity }: Record<keyof typeof UNITS, number>,
  hasHumidity: boolean,
): number {
  return 1.25 + 2.3 * temperature + 2.3 * pressure + 0.575 + (hasHumidity ? 2.3 * humidity + 0.575 : 0);
}

/** All of a kind's definition but its schema. */
export function boschKind(kind: keyof typeof CHIP_ID) {
  const hasHumidity = kind === 'bme280';
  const scan: ChipScan = {
    addresses: addresses(0x76, 0x77),
    isCertain: true,
    turn: 1,
    looksLike: async (bus, address, signal) =>
      (await bus.readRegisters(address, ID_REGISTER, 1, signal))[0] === CHIP_ID[kind],
  };
  return {
    driver: async () => ({ open: (await import('./driver.ts')).openBosch }),
    twin: async () => ({ twin: (await import('./twin.ts')).boschTwin(hasHumidity) }),
    units: hasHumidity ? UNITS : { temperature: UNITS.temperature, pressure: UNITS.pressure },
    digits: DIGITS,
    minReadMs: ({ oversampling }: { readonly oversampling: Parameters<typeof boschMs>[0] }) =>
      boschMs(oversampling, hasHumidity),
    scan,
  };
}
