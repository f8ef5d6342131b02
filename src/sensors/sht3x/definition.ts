/** SHT30, SHT31, SHT35. Keys `temperature` (°C), `humidity` (%). */
import { z } from 'zod';
import { i2cFields } from '../../config/fields/addresses.ts';
import type { I2cBus } from '../../hardware/i2c-port.ts';
import { addresses, type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('sht3x', () => ({
  ...i2cFields({ default: 0x44, min: 0x44, max: 0x45 }),
  repeatability: z.enum(['low', 'medium', 'high']).default('high'),
}));

export type Sht3xConfig = ConfigOf<typeof schema>;
export const UNITS = { temperature: '°C', humidity: '%' } as const;
/** The longest measurement of each repeatability (SHT3x-DIS, table 4). */
export const MEASUREMENT_MS = { high: 15.5, medium: 6.5, low: 4.5 } as const;
/** Section 4.12. */
const READ_STATUS = [0xf3, 0x2d] as const;

export const sht3x = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  // Resolution 0.01 °C, 0.01 %RH (SHT3x-DIS, tables 1 and 2).
  digits: { temperature: 2, humidity: 2 },
  minReadMs: ({ repeatability }) => MEASUREMENT_MS[repeatability],
  // It does not acknowledge being read before it has measured (section 4.4).
  scan: { addresses: addresses(0x44, 0x45), isCertain: true, turn: 6, isSilent: true, looksLike: hasStatus },
});

/** Tells if the status word comes with its check sum. */
async function hasStatus(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean> {
  await bus.write(address, Uint8Array.from(READ_STATUS), signal);
  const bytes = await bus.read(address, 3, signal);
  return bytes[2] === crc8(bytes.subarray(0, 2));
}

/** The check sum of a word (table 20): polynomial 0x31, start 0xff, not reflected. */
export function crc8(bytes: Uint8Array): number {
  let crc = 0xff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 0x31) & 0xff : crc << 1;
  }
  return crc;
}
