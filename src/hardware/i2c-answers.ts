/**
 * Whether anybody is there at an I2C address. Nearly every chip acknowledges being read. An SHT3x that has measured nothing does not
 * (SHT3x-DIS, section 4.4), so that it is asked for its status, at the two addresses that it can have.
 */
import type { I2cBus } from './i2c-port.ts';

const SENSIRION_ADDRESSES: ReadonlySet<number> = new Set([0x44, 0x45]);
/** Section 4.12. */
const READ_STATUS = [0xf3, 0x2d] as const;

/** @throws as I2cBus.probe. */
export async function answersAt(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean> {
  if (await bus.probe(address, signal)) return true;
  return SENSIRION_ADDRESSES.has(address) && (await hasSensirionStatus(bus, address, signal).catch(() => false));
}

/** Whether the status word comes with its check sum. @throws as I2cBus.write and read. */
export async function hasSensirionStatus(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean> {
  await bus.write(address, Uint8Array.from(READ_STATUS), signal);
  const [high = 0, low = 0, sum] = await bus.read(address, 3, signal);
  return sum === crc8(high, low);
}

/** Polynomial 0x31, start 0xFF (section 4.14). */
function crc8(...bytes: readonly number[]): number {
  let crc = 0xff;
  for (const one of bytes) {
    crc ^= one;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x80 ? 0x31 : 0)) & 0xff;
  }
  return crc;
}
