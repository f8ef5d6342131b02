/** Check sums of "123456789": check values of the catalogue of CRCs (ARC, MODBUS, XMODEM), and sums counted by hand. */
import { expect, it } from 'vitest';
import { isWhole } from './check-sum.ts';

const DIGITS = Buffer.from('123456789');

it.each([
  ['sum8', 'dd'],
  ['sum8-negative', '23'],
  ['sum16', '01dd'],
  ['sum16-negative', 'fe23'],
  ['xor', '31'],
  ['lrc', '23'],
  ['crc16-modbus', '374b'],
  ['crc16-arc', '3dbb'],
  ['crc16-ccitt', '31c3'],
  ['crc16-voltronic', '31c3'],
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

// crcPI of mpp-solar 0.16.56 has the same sums.
it('takes a sum of which a byte would be a line end or a beginning as one more', () => {
  const isGood = (text: string, hex: string): boolean =>
    isWhole(Buffer.concat([Buffer.from(text), Buffer.from(hex, 'hex')]), { kind: 'crc16-voltronic' });
  expect([isGood('POP02', 'e20b'), isGood('QBOOT', '0b88'), isGood('(9', '2935')]).toEqual([true, true, true]);
  expect([isGood('POP02', 'e20a'), isGood('QBOOT', '0a88'), isGood('(9', '2835')]).toEqual([false, false, false]);
});

it('takes each group of a frame of teleinformation by its own sum', () => {
  const isGood = (text: string): boolean => isWhole(Buffer.from(text), { kind: 'teleinfo' });
  expect(isGood('\x02\nIMAX 049 L\r\nPAPP 02160 *\r\x03')).toBe(true);
  expect(isGood('\x02\nEAST\t017026175\t,\r\x03')).toBe(true);
  expect(isGood('\x02\nIMAX 049 L\r\nPAPP 02161 *\r\x03')).toBe(false);
  expect(isGood('\x02\x03')).toBe(false);
});

it('takes the sum in hex behind * or behind the end of a text', () => {
  const isGood = (text: string): boolean => isWhole(Buffer.from(text), { kind: 'nmea' });
  expect(isGood('\x02Q,229,002.74,M,00,\x0316')).toBe(true);
  expect(isGood('\x02Q,229,002.75,M,00,\x0316')).toBe(false);
});

it.each([
  ['/X2522\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', '9'],
  ['/X2522\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', '0009'],
  ['/X2021\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', '24'],
  ['/X2021\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', '0024'],
  ['/X1\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', 'AFC'],
  ['/X1\r\n\r\n1-0:1.8.1(000001.000*kWh)\r\n!', '0afc'],
])('takes the sum of %j as %s, with leading zeros or without', (text, sum) => {
  expect(isWhole(Buffer.from(`${text}${sum}`), { kind: 'p1' })).toBe(true);
  expect(isWhole(Buffer.from(`${text.replace('1.000', '2.000')}${sum}`), { kind: 'p1' })).toBe(false);
  expect(isWhole(Buffer.from(text), { kind: 'p1' })).toBe(false);
});
