import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bitField } from './bit-field.ts';
import { convertReading } from './convert-value.ts';
import { scaled } from './decimal.ts';
import { numberOfText } from './text-number.ts';

const convert = (value: string | number | bigint | boolean, rules: Parameters<typeof convertReading>[1]) =>
  convertReading({ key: 'k', value }, rules);

describe('numbers in text', () => {
  it('are what they were written from, in every base, with comma or point, with blanks after the sign', () => {
    const bases = fc.constantFrom(2, 8, 10, 16);
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 40), max: 2 ** 40 }), bases, (number, radix) => {
        expect(numberOfText(number.toString(radix), { radix: radix as 2 | 8 | 10 | 16 })).toBe(number + 0);
        expect(numberOfText(String(number / 100).replace('.', ','), { decimal: ',' })).toBe(number / 100 + 0);
        expect(numberOfText(String(number).replace('-', '-  '))).toBe(number + 0);
      }),
    );
  });

  it.each(['', '-', '1 2', '- -1', '0x10', '1,5', '1.2.3', 'e5'])('are none in %j', (text) => {
    expect(numberOfText(text)).toBeUndefined();
  });

  it('are refused where a decimal comma stands beside a point', () => {
    expect(numberOfText('1.234,5', { decimal: ',' })).toBeUndefined();
  });
});

describe('bits', () => {
  it('are those that a DataView reads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0, max: 7 }), (word, shift) => {
        const view = new DataView(Uint16Array.of(word).buffer);
        const [low, high] = [view.getUint8(0), view.getUint8(1)];
        expect(bitField('k', word, { bytes: 'low' }, { bits: 16 })).toBe(low);
        expect(bitField('k', word, { bytes: 'high', shift }, { bits: 16 })).toBe(high >> shift);
        expect(bitField('k', word, { bytes: 'low' }, { bits: 16, isSigned: true })).toBe(view.getInt8(0));
        expect(bitField('k', word, {}, { bits: 16, isSigned: true })).toBe(view.getInt16(0, true));
        expect(bitField('k', word, { signMagnitude: true }, { bits: 16 })).toBe(
          (word & 0x7fff) * (word > 0x7fff ? -1 : 1) + 0,
        );
      }),
    );
  });

  it('are refused of what they cannot hold, and of a fraction', () => {
    expect(() => bitField('k', 0x1_0000, { bytes: 'low' }, {})).toThrow(/does not fit into 16 bits/);
    expect(() => bitField('k', 1.5, { mask: 1 }, {})).toThrow(/no whole number/);
  });

  it('may be decimal digits below a sign bit', () => {
    expect(bitField('k', 0x8123, { bcd: true, signMagnitude: true }, { bits: 16 })).toBe(-123);
  });
});

describe('the chain of one value', () => {
  it('looks a text up once, and a number before its scale', () => {
    const map = { 2: 3, 3: 4 };
    expect(convert('2', { map, type: 'number', scale: 10 })).toBe(30);
    expect(convert(2, { map, scale: 10 })).toBe(30);
    expect(convert(true, { map: { true: 'open' } })).toBe('open');
  });

  it.each([
    ['integer', '1.5'],
    ['number', 'x'],
    ['boolean', 'perhaps'],
    ['json', '{'],
  ] as const)('refuses as %s %j, in words that name both', (type, text) => {
    expect(() => convert(text, { type })).toThrow(`"${text.replaceAll('"', '\\"')}", which is n`);
  });

  it('scales exactly in decimal, longs too, and refuses what becomes infinite', () => {
    expect(convert(231, { scale: 0.1 })).toBe(23.1);
    expect(convert(9_007_199_254_740_993n, { offset: 1 })).toBe(9_007_199_254_740_994n);
    expect(() => convert(1e308, { scale: 1e10 })).toThrow(/too great/);
    fc.assert(
      fc.property(fc.integer({ min: -1e6, max: 1e6 }), (raw) => {
        expect(scaled(raw, { scale: 0.01 })).toBe(raw / 100 + 0);
      }),
    );
  });

  it('goes by the straight lines of a table, and on beyond its ends', () => {
    const table = [
      [0, 0],
      [10, 100],
      [20, 110],
    ];
    expect([-1, 0, 5, 10, 15, 20, 30].map((x) => convert(x, { table }))).toEqual([-10, 0, 50, 100, 105, 110, 120]);
  });
});

it.each([
  [31, { max: 30 }, 'at most 30'],
  [-1, { min: 0 }, 'at least 0'],
  [31, { min: 0, max: 30 }, '0 to 30'],
])('%d beyond %j is refused with the range in words', (value, rules, range) => {
  expect(() => convert(value, rules)).toThrow(`k ${value} is outside the sensor's range of ${range}`);
});
