/** Polynomial of CRC-16/X-25 and CRC-16/KERMIT: 0x1021, reflected. */
export const X25 = 0x8408;

/** Returns the remainder of a cyclic check sum that takes the low bit of each byte first. */
export function reflectedCrc(bytes: Uint8Array, polynomial: number, start: number): number {
  let crc = start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ polynomial : crc >> 1;
  }
  return crc;
}
