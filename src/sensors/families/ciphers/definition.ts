/** Keys of meters that encrypt for their customers: 16 bytes in hex. */
import type { SecretRule } from '../../../config/fields/fields.ts';
import { bytesOfHex, HEX } from '../../../config/fields/request-text.ts';

export const CIPHER_KEY: SecretRule = {
  isGood: (value) => HEX.test(value) && bytesOfHex(value).length === 16,
  expected: '32 hexadecimal digits, with blanks or colons between them or without, as the grid operator gives them',
};
