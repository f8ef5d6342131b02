/** Requests as devices take them: text in which each character is one byte, or bytes in hex. */
import { text } from './fields.ts';

/** One byte for each character, as `"\xFF\x01"` is meant; what no byte is, is no character of a request. */
const BYTES = /^(?![\s\S]*\\(?:x[0-9A-Fa-f]{2}|[rn]))[^\u0100-\uffff]*$/;
export const HEX = /^\s*[0-9A-Fa-f]{2}(?:[\s:]*[0-9A-Fa-f]{2})*\s*$/;

/** Text of which each character is one byte. @param hexOption for what it cannot say. */
export const byteText = (hexOption: string) =>
  text(
    BYTES,
    `characters up to U+00FF, each one byte, with \\r and \\xFF in double quotes; ${hexOption} takes any bytes`,
  );

/** `FF 01 86`. */
export const hexText = () => text(HEX, 'bytes in hex such as "FF 01 86"');

export function bytesOfHex(hex: string): Buffer {
  return Buffer.from(hex.replace(/[\s:]/g, ''), 'hex');
}

/** One byte for each character. */
export function bytesOfText(characters: string): Buffer {
  return Buffer.from(characters, 'latin1');
}

/** Bytes of `send` or `sendHex`; undefined where neither is there. */
export function bytesOf(send: string | undefined, sendHex: string | undefined): Buffer | undefined {
  if (sendHex !== undefined) return bytesOfHex(sendHex);
  return send === undefined ? undefined : bytesOfText(send);
}
