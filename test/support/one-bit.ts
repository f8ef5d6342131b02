/** Damage of a disk or a card, as small as it comes. */

/** The text with each of its bits changed, one at a time. */
export function* everyDamage(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    yield damaged;
  }
}
