/** Cyclic check sums that twins and talkers send. Drivers have their own code, so that a fault in one of the two shows. */

/** Returns the remainder of a cyclic check sum that takes the low bit of each byte first. */
export function reflectedCrc(bytes: Uint8Array, polynomial: number, start: number): number {
  let register = start;
  for (const byte of bytes) {
    register ^= byte;
    for (let bit = 0; bit < 8; bit += 1) register = (register & 1) === 1 ? (register >> 1) ^ polynomial : register >> 1;
  }
  return register;
}

/** CRC-16/X-25 of SML and HDLC. */
export function crcX25(bytes: Uint8Array): number {
  return reflectedCrc(bytes, 0x8408, 0xffff) ^ 0xffff;
}
