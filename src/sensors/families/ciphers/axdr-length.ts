/** Lengths as messages of DLMS tell them (A-XDR, IEC 61334-6). */

/** Length of A-XDR at a place: one byte, or the number of bytes behind 80. @throws RangeError past the end, or for more than a message. */
export function lengthAt(bytes: Uint8Array, from: number): { readonly length: number; readonly at: number } {
  const first = bytes[from];
  if (first === undefined) throw new RangeError('a message that ends within a length');
  if (first < 0x80) return { length: first, at: from + 1 };
  const count = first & 0x7f;
  const digits = bytes.subarray(from + 1, from + 1 + count);
  if (count === 0 || count > 4 || digits.length < count) throw new RangeError('a length of no known form');
  return { length: digits.reduce((all, byte) => all * 256 + byte, 0), at: from + 1 + count };
}
