import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isJsonObject,
  type JsonValue,
  jsonEqual,
  parseJson,
  parseJsonNumbers,
  stringifyJson,
} from '../../../src/values/json.ts';

const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((double) => !Object.is(double, -0)),
    fc.constantFrom(2 ** 53, 2 ** 60, -(2 ** 62), 1e20, 1e21),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;

describe('JSON', () => {
  it('reads back what it writes, 64-bit integers digit for digit', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(parseJson(stringifyJson(value))).toEqual(value);
      }),
      { numRuns: 1000 },
    );
  });

  it.each<[string, JsonValue]>([
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-9223372036854775808', -9_223_372_036_854_775_808n],
    ['1e20', 1e20],
    ['9007199254740993.0', 9_007_199_254_740_992],
    ['[{"a":12345678901234567890}]', [{ a: 12_345_678_901_234_567_890n }]],
  ])('reads %s exactly', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it('keeps a double past 2^53 a double, to the last digit', () => {
    for (const double of [2 ** 53, 2 ** 60, -(2 ** 62), 1e20, 1e21, 1e300])
      expect(parseJson(stringifyJson([double, 'x']))).toEqual([double, 'x']);
  });

  it('writes NaN and infinities as null', () =>
    expect(stringifyJson([Number.NaN, Number.NEGATIVE_INFINITY])).toBe('[null,null]'));

  it('drops __proto__ at every depth and keeps other odd keys as data', () => {
    const value = parseJson('{"__proto__":{"x":1},"a":{"__proto__":[1],"constructor":2,"toString":3}}');
    expect(stringifyJson(value)).toBe('{"a":{"constructor":2,"toString":3}}');
    expect(({} as { readonly x?: number }).x).toBeUndefined();
  });

  it.each(['', '{', '{"a":}', 'undefined', "{'a':1}", '01', '[1,]', '"\u0001"', '{"a":1}x'])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'json/malformed', recovery: 'drop' }));
  });

  it('refuses what is too long before it is read', () => {
    expect(() => parseJson('"xxxx"', { length: 5 })).toThrow(expect.objectContaining({ code: 'json/too-large' }));
    expect(parseJson('"xxx"', { length: 5 })).toBe('xxx');
  });

  it('refuses what is too deep before the stack runs out; brackets in strings do not count', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => parseJson(nested(33))).toThrow(expect.objectContaining({ code: 'json/too-deep' }));
    expect(() => parseJson(nested(1_000_000))).toThrow(expect.objectContaining({ code: 'json/too-deep' }));
    expect(() => parseJson(nested(5), { depth: 4 })).toThrow(expect.objectContaining({ code: 'json/too-deep' }));
    expect(parseJson(nested(32))).toBeDefined();
    expect(parseJson(`"${'['.repeat(100)}\\"["`)).toBe(`${'['.repeat(100)}"[`);
  });

  it('refuses more values than a small heap takes, whatever they are, and counts none inside strings', () => {
    const many = (count: number, one: string): string => `[${Array(count).fill(one).join(',')}]`;
    for (const one of ['0', '{}', '[]', '""'])
      expect(() => parseJson(many(100_001, one))).toThrow(expect.objectContaining({ code: 'json/too-large' }));
    expect(() => parseJson(many(11, '1'), { values: 10 })).toThrow(expect.objectContaining({ code: 'json/too-large' }));
    expect(parseJson('[1,2,3]', { values: 4 })).toEqual([1, 2, 3]);
    expect(parseJson(`"${',[{'.repeat(1_000)}"`, { values: 1 })).toHaveLength(3_000);
  });

  it('refuses a number whose digits alone would take seconds', () => {
    expect(() => parseJson('1'.repeat(401))).toThrow(expect.objectContaining({ code: 'json/too-large' }));
    expect(parseJson(`"${'1'.repeat(1_000)}"`)).toHaveLength(1_000);
    expect(parseJson('1'.repeat(400))).toBe(BigInt('1'.repeat(400)));
  });

  it('drops __proto__ however it is spelt', () => {
    expect(Object.keys(parseJson('{"\\u005f_proto__":{"x":1},"a":1}') as object)).toEqual(['a']);
  });

  it('gives each number its own spelling to who asks for it', () => {
    const numbers: string[] = [];
    parseJsonNumbers('{"a":20.0,"b":[1e3,-0,9007199254740993],"c":"5"}', (source) => numbers.push(source));
    expect(numbers).toEqual(['20.0', '1e3', '-0', '9007199254740993']);
    expect(() => parseJsonNumbers('{', String)).toThrow(expect.objectContaining({ code: 'json/malformed' }));
  });
});

describe('equality', () => {
  it('does not care for the order of keys nor for the form of a number', () => {
    expect(jsonEqual({ a: 1, b: [5n] }, { b: [5], a: 1 })).toBe(true);
    expect(jsonEqual(9_007_199_254_740_993n, 9_007_199_254_740_992)).toBe(false);
  });

  it('tells apart what differs: order in arrays, missing keys, types', () => {
    for (const [a, b] of [
      [
        [1, 2],
        [2, 1],
      ],
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ a: 1 }, { b: 1 }],
      [{}, []],
      [null, {}],
      ['1', 1],
      [1n, '1'],
      [0, false],
      [[], [1]],
    ] as const)
      expect(jsonEqual(a as JsonValue, b as JsonValue), stringifyJson([a, b] as JsonValue)).toBe(false);
  });
});

describe('an object', () => {
  it('is no array and no null', () => {
    expect([{}, [], null, 'x', 5].map(isJsonObject)).toEqual([true, false, false, false, false]);
  });
});
