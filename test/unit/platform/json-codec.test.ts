import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonValue, parseJson } from '../../../src/host/json.ts';
import { jsonCodec } from '../../../src/platform/payload-codec.ts';
import { wireValue } from '../../../src/platform/wire-values.ts';

const text = (...args: Parameters<typeof jsonCodec.encodeTelemetry>): string => String(jsonCodec.encodeTelemetry(...args));

describe('the JSON codec', () => {
  it('writes the three forms of telemetry', () => {
    expect(text([{ values: { a: 1, b: 'x' } }])).toBe('{"a":1,"b":"x"}');
    expect(text([{ values: { a: 1 } }, { values: { a: 2 } }])).toBe('[{"a":1},{"a":2}]');
    expect(text([{ ts: 5, values: { a: true } }])).toBe('{"ts":5,"values":{"a":true}}');
    expect(text([{ ts: 5, values: { a: 1 } }, { values: { b: 9_007_199_254_740_993n } }])).toBe(
      '[{"ts":5,"values":{"a":1}},{"b":9007199254740993}]',
    );
  });

  it('sends nothing of a record but its time and its values', () => {
    const record = { ts: 5, values: { a: 1 }, sequence: 17 };
    expect(text([record])).toBe('{"ts":5,"values":{"a":1}}');
    expect(text([record, record])).toBe('[{"ts":5,"values":{"a":1}},{"ts":5,"values":{"a":1}}]');
  });

  it('spells every value as the wire wants it, fast way or careful way', () => {
    const scalar = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
      fc.string(),
      fc.boolean(),
      fc.constantFrom(1e-7, 1e21, 2 ** 53, 0.1234567890123456, 123_456_789_012_345.6, '1e5', '1234567890123456'),
    );
    const values = fc.dictionary(fc.string(), scalar, { minKeys: 1, maxKeys: 4, noNullPrototype: true });
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 3 }), (list) => {
        const expected = list.map(
          (each) => `{${Object.entries(each).map(([key, value]) => `${JSON.stringify(key)}:${wireValue(value)}`)}}`,
        );
        expect(text(list.map((each) => ({ values: each })))).toBe(expected.length === 1 ? expected[0] : `[${expected.join(',')}]`);
      }),
      { numRuns: 2000 },
    );
  });

  it('reads back what it writes, longs included', () => {
    const value: JsonValue = { a: [9_007_199_254_740_993n, 1.5, null, 'x'], b: { c: true } };
    expect(jsonCodec.decode(Buffer.from(jsonCodec.encode(value)))).toEqual(value);
    expect(parseJson(String(jsonCodec.encode(value)))).toEqual(value);
  });
});
