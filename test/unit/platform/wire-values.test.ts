import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isSentAsText,
  keyFault,
  sendableKey,
  timeFault,
  valueFault,
  wireValue,
} from '../../../src/platform/wire-values.ts';
import type { JsonValue } from '../../../src/values/json.ts';

const YEAR_10000_MS = 253_402_300_800_000;
const ASTRAL = '\u{1f600}';

describe('keys', () => {
  it.each([
    '',
    '   ',
    '\t',
    '\u00a0',
    '\u001c',
    '\u200b',
    'k'.repeat(256),
    ASTRAL.repeat(130),
    '<b>bold',
    'a</a',
    'x<!--',
    'a<5',
    '{{temperature}}',
    'a{{\n}}b',
    'a\u0000b',
    'a\u0007b',
    'a\ud800b',
  ])('finds fault with %j, which the server would lose with all of its instant', (key) => {
    expect(keyFault(key)).toBeDefined();
  });

  it.each(['temperature', 'a b', 'k'.repeat(255), ASTRAL.repeat(127), 'a>5', 'a,b', '{a}', '}}{{', 'ü', '__proto__'])(
    'takes %j',
    (key) => {
      expect(keyFault(key)).toBeUndefined();
      expect(sendableKey(key)).toBe(key);
    },
  );

  it('get another name that the server keeps, as like the first as can be', () => {
    expect(sendableKey('<b>level</b>')).toMatch(/^_b>level_\/b>_[0-9a-f]{8}$/);
    expect(sendableKey('{{water}} level')).toMatch(/^_water_ level_[0-9a-f]{8}$/);
    expect(sendableKey('')).toMatch(/^key_[0-9a-f]{8}$/);
    expect(sendableKey(`${'k'.repeat(300)}`)).toMatch(/^k{246}_[0-9a-f]{8}$/);
  });

  it('are never lost under their new name, keep it, and never share it with another', () => {
    const parts = fc.constantFrom(
      'a',
      '<',
      '{{',
      '}}',
      '{',
      '}',
      '\u0000',
      '\u0007',
      ' ',
      '\ud800',
      '\udc00',
      ASTRAL,
      'k'.repeat(200),
    );
    const key = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(parts, { maxLength: 8 }).map((some) => some.join('')),
    );
    fc.assert(
      fc.property(key, key, (one, other) => {
        const name = sendableKey(one);
        expect(keyFault(name)).toBeUndefined();
        expect(sendableKey(name)).toBe(name);
        if (one !== other) expect(sendableKey(other)).not.toBe(name);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('times', () => {
  it.each([0, 1, 1_700_000_000_123, YEAR_10000_MS - 1])('takes %d', (ts) => expect(timeFault(ts)).toBeUndefined());
  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, YEAR_10000_MS, 1e20])('refuses %d', (ts) => {
    expect(timeFault(ts)).toBeDefined();
  });
});

describe('values', () => {
  it.each([null, Number.NaN, Number.POSITIVE_INFINITY])('refuses %s, which the server would skip', (value) => {
    expect(valueFault(value)).toBeDefined();
  });

  it('refuses what is no value, a text too long for its column, and JSON that is nested deeper than the server reads', () => {
    const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)]);
    for (const value of [undefined, () => {}, Symbol('s')])
      expect(valueFault(value as unknown as JsonValue)).toBeDefined();
    expect(valueFault('x'.repeat(10_000_001))).toBeDefined();
    expect(valueFault(nested(241))).toBeDefined();
    expect(valueFault(nested(240))).toBeUndefined();
    const ring: { self?: JsonValue } = {};
    ring.self = ring as JsonValue;
    expect(valueFault(ring as JsonValue)).toBeDefined();
  });

  it('takes 0, "", false, {}, [] and longs as well as any other', () => {
    for (const value of [0, '', false, {}, [], 5n]) expect(valueFault(value)).toBeUndefined();
  });

  it.each<[number | bigint, string]>([
    [0, '0'],
    [-0, '0'],
    [20, '20'],
    [-0.5, '-0.5'],
    [1e-7, '0.0000001'],
    [1.5e-10, '0.00000000015'],
    [1.2e-15, '0.0000000000000012'],
    [0.30000000000000004, '0.3'],
    [1 / 3_000, '0.0003333333333333'],
    [0.12345678901234568, '0.1234567890123457'],
    [12_345_678.9, '12345678.9'],
    [9_007_199_254_740_991, '9007199254740991'],
    [9_007_199_254_740_994, '9007199254740994'],
    [2 ** 60, '1152921504606846976'],
    [-(2 ** 63), '-9223372036854775808'],
    [9_007_199_254_740_993n, '9007199254740993'],
    [-9_223_372_036_854_775_808n, '-9223372036854775808'],
  ])('spells %s as %s, which arrives as the number it is', (value, text) => {
    expect(wireValue(value)).toBe(text);
    expect(isSentAsText(value)).toBe(false);
  });

  it.each<[number | bigint, string]>([
    [2 ** 63, '"9223372036854776000"'],
    [-1e21, '"-1e+21"'],
    [1e300, '"1e+300"'],
    [9_223_372_036_854_775_808n, '"9223372036854775808"'],
    [1e-30, '"1e-30"'],
    [9e-16, '"9e-16"'],
    [-1.602176634e-19, '"-1.602176634e-19"'],
    [1 / 3e12, '"3.3333333333333334e-13"'],
  ])('sends %s, for which the server has no room, as the text %s', (value, text) => {
    expect(wireValue(value)).toBe(text);
    expect(isSentAsText(value)).toBe(true);
    expect(Number(JSON.parse(text))).toBe(Number(value));
  });

  it('never writes an exponent nor more than 16 decimals, and takes no more than single precision allows', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = wireValue(value);
        if (isSentAsText(value)) {
          expect(Number(JSON.parse(text))).toBe(value);
          return;
        }
        expect(text).toMatch(/^-?\d+(\.\d{1,16})?$/);
        expect(Math.abs(Number(text) - value)).toBeLessThanOrEqual(Math.min(1e-16, Math.abs(value) * 2 ** -24));
      }),
      { numRuns: 5000 },
    );
  });

  it('keeps longs inside of JSON digit for digit', () => {
    expect(wireValue({ a: [9_007_199_254_740_993n, 1.5, null] })).toBe('{"a":[9007199254740993,1.5,null]}');
  });
});
