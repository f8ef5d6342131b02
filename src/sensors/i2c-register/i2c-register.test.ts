/** Registers by their table, alone and on the board. */
import { describe, expect, it } from 'vitest';
import { chipWith, readsWhatIsShown, withinForAll } from '../../../test/support/chip-on-board.ts';
import { parseRegister } from './driver.ts';

const { signal } = new AbortController();

describe('a register by its table', () => {
  const field = { register: 0, width: 2, signed: false, byteOrder: 'big' as const, shift: 0, scale: 1, offset: 0 };
  it('takes sign, byte order, shift, width, scale and offset as they are said', () => {
    expect(parseRegister('x', field, Uint8Array.of(0x12, 0x34)).value).toBe(0x1234);
    expect(parseRegister('x', { ...field, byteOrder: 'little' }, Uint8Array.of(0x12, 0x34)).value).toBe(0x3412);
    expect(
      parseRegister('x', { ...field, signed: true, shift: 4, scale: 0.0625 }, Uint8Array.of(0xe7, 0x00)).value,
    ).toBe(-25);
    expect(parseRegister('x', { ...field, shift: 3, bits: 13, scale: 0.004 }, Uint8Array.of(0x5d, 0x98)).value).toBe(
      11.98,
    );
    expect(parseRegister('x', { ...field, width: 1, bits: 4, shift: 4 }, Uint8Array.of(0xa5)).value).toBe(0x0a);
    expect(parseRegister('x', { ...field, width: 8 }, Buffer.from('ffffffffffffffff', 'hex')).value).toBe(
      18446744073709551615n,
    );
    expect(parseRegister('x', { ...field, scale: 0.1, unit: 'V' }, Uint8Array.of(0x00, 231))).toEqual({
      key: 'x',
      value: 23.1,
      unit: 'V',
    });
  });
  it('keeps every digit of a counter', () => {
    const counter = { ...field, width: 8, scale: 0.001 };
    // 12345678901234567 thousandths, as Python's decimal and float write them.
    expect(String(parseRegister('x', counter, Buffer.from('002bdc545d6b4b87', 'hex')).value)).toBe(
      '12345678901234.566',
    );
    expect(parseRegister('x', counter, Buffer.from('00000462d53c8abf', 'hex')).value).toBe(4822530820.799);
    expect(parseRegister('x', { ...counter, scale: 10 }, Buffer.from('002bdc545d6b4b87', 'hex')).value).toBe(
      123456789012345670n,
    );
    expect(
      parseRegister('x', { ...counter, scale: 0.1, offset: -1e-7 }, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 231)).value,
    ).toBe(23.0999999);
  });
  it('leaves out what the chip marks as none, at any width', () => {
    const none = (value: number, more = {}) => ({ ...field, noValue: value, ...more });
    expect(() => parseRegister('x', none(0x8000, { signed: true }), Uint8Array.of(0x80, 0))).toThrow(/there is no x/);
    expect(() => parseRegister('x', none(-0x8000, { signed: true }), Uint8Array.of(0x80, 0))).toThrow(/there is no x/);
    expect(() => parseRegister('x', none(-1, { width: 8 }), Buffer.from('ffffffffffffffff', 'hex'))).toThrow(
      /there is no x/,
    );
    expect(parseRegister('x', none(-1), Uint8Array.of(0xff, 0xfe)).value).toBe(0xfffe);
  });
  it('never leaves the limits that were set', () =>
    withinForAll(
      (_, bytes) => [
        parseRegister('x', { ...field, signed: true, scale: 0.01, min: -40, max: 85 }, bytes.subarray(0, 2)),
      ],
      [-40, 85],
    ));
});

it('reads exactly what the board says it showed, and survives a chip that loses its power', () =>
  readsWhatIsShown('i2c-register', 0x60, {
    registers: { level: { register: 0x10, width: 2, signed: true, byteOrder: 'little', scale: 0.1 } },
  }));

it('a table leaves out what lies outside its limits, alone', async () => {
  const registers = { good: { register: 1, width: 2 }, bad: { register: 5, width: 2, max: 100 } };
  const { bench, sensor } = await chipWith('i2c-register', 0x60, { good: 7, bad: 101 }, { registers });
  expect(await sensor.read(signal)).toEqual([{ key: 'good', value: 7 }]);
  expect(sensor.refused?.()).toMatchObject([{ key: 'bad', fault: { code: 'sensors/out-of-range' } }]);
  await bench.close();
});
