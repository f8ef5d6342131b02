/** Check sums of "123456789": check values of the catalogue of CRCs (ARC, MODBUS, XMODEM), and sums counted by hand. */
import { expect, it } from 'vitest';
import { isWhole } from './check-sum.ts';

const DIGITS = Buffer.from('123456789');

it.each([
  ['sum8', 'dd'],
  ['sum8-negative', '23'],
  ['sum16', '01dd'],
  ['xor', '31'],
  ['lrc', '23'],
  ['crc16-modbus', '374b'],
  ['crc16-arc', '3dbb'],
  ['crc16-ccitt', '31c3'],
  ['vedirect', '23'],
] as const)('takes %s of the digits as %s, and nothing else', (kind, hex) => {
  const sum = Buffer.from(hex, 'hex');
  expect(isWhole(Buffer.concat([DIGITS, sum]), { kind })).toBe(true);
  for (let at = 0; at < sum.length; at += 1) {
    const damaged = Buffer.from(sum);
    damaged.writeUInt8(sum.readUInt8(at) ^ 1, at);
    expect(isWhole(Buffer.concat([DIGITS, damaged]), { kind })).toBe(false);
  }
});
