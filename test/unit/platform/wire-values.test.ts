import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyFault, looksNumeric, valueFault, wireValue } from '../../../src/platform/wire-values.ts';

describe('keys', () => {
  it.each(['', '   ', '\t', 'k'.repeat(256), '<b>bold', 'a</a', 'x<!--'])('refuses %j, which the server would lose', (key) => {
    expect(keyFault(key)).toBeDefined();
  });

  it.each(['temperature', 'a b', 'k'.repeat(255), 'a<5', 'ü', '__proto__'])('takes %j', (key) => {
    expect(keyFault(key)).toBeUndefined();
  });
});

describe('values', () => {
  it.each([null, Number.NaN, Number.POSITIVE_INFINITY])('refuses %s, which the server would skip', (value) => {
    expect(valueFault(value)).toBeDefined();
  });

  it('takes 0, "", false, {}, [] and longs as well as any other', () => {
    for (const value of [0, '', false, {}, [], 5n]) expect(valueFault(value)).toBeUndefined();
  });

  it.each<[number | bigint, string]>([
    [0, '0'],
    [20, '20'],
    [-0.5, '-0.5'],
    [1e-7, '0.0000001'],
    [1.5e-10, '0.00000000015'],
    [1e-30, '0.0'],
    [0.12345678901234568, '0.1234567890123457'],
    [9_007_199_254_740_991, '9007199254740991'],
    [2 ** 60, '1152921504606846976.0'],
    [1e21, '1000000000000000000000.0'],
    [9_007_199_254_740_993n, '9007199254740993'],
    [-9_223_372_036_854_775_808n, '-9223372036854775808'],
    [9_223_372_036_854_775_808n, '"9223372036854775808"'],
  ])('spells %s as %s', (value, text) => {
    expect(wireValue(value)).toBe(text);
  });

  it('never writes an exponent nor more than 16 decimals, and loses less than the 16th decimal', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = wireValue(value);
        expect(text).toMatch(/^-?\d+(\.\d{1,16})?$/);
        expect(Math.abs(Number(text) - value)).toBeLessThanOrEqual(1e-16);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps longs inside of JSON digit for digit', () => {
    expect(wireValue({ a: [9_007_199_254_740_993n, 1.5, null] })).toBe('{"a":[9007199254740993,1.5,null]}');
  });
});

describe('strings that look like numbers', () => {
  it.each(['007', '1.5', '-3', '.5', '1e5', '+1'])('warns of %j', (text) => expect(looksNumeric(text)).toBe(true));
  it.each(['', 'a', '1 2', '0x1f', '1.2.3', '-'])('leaves %j alone', (text) => expect(looksNumeric(text)).toBe(false));
});
