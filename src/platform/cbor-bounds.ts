/** Looks at CBOR (RFC 8949, section 3) before it is decoded: a byte of it can become a value that takes a hundred. */
import { AgentError } from '../errors.ts';

const BYTES = 2;
const TEXT = 3;
/** 8 bytes are an int64; JSON's bound of 400 digits is 167. */
const MAX_BIGNUM_BYTES = 167;

/** @throws AgentError `cbor/too-large` (drop) for more values than that, or a number that takes seconds to make. */
export function checkCborBounds(bytes: Uint8Array, maxValues: number): void {
  let values = 0;
  for (let at = 0; at < bytes.length; ) {
    const head = bytes[at] ?? 0;
    const { size, argument } = headAt(bytes, at, head & 0x1f);
    const major = head >> 5;
    at += size;
    values += 1;
    if (values > maxValues) throw tooLarge(`CBOR of more than ${maxValues} values`);
    // Byte strings are bignums or nothing that JSON has a word for.
    if (major === BYTES && argument > MAX_BIGNUM_BYTES) throw tooLarge(`CBOR with a byte string of ${argument} bytes`);
    if (major === BYTES || major === TEXT) at += argument;
  }
}

/** How long a head is, and its argument: lengths follow in 1, 2, 4 or 8 bytes (table in section 3). */
function headAt(bytes: Uint8Array, at: number, info: number): { readonly size: number; readonly argument: number } {
  if (info < 24) return { size: 1, argument: info };
  if (info > 27) return { size: 1, argument: 0 };
  const length = 2 ** (info - 24);
  let argument = 0;
  for (let next = at + 1; next <= at + length; next += 1) argument = argument * 256 + (bytes[next] ?? 0);
  return { size: 1 + length, argument };
}

function tooLarge(message: string): AgentError {
  return new AgentError('cbor/too-large', message, { recovery: 'drop' });
}
