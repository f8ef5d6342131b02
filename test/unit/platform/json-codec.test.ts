import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonCodec } from '../../../src/platform/payload-codec.ts';
import { wireValue } from '../../../src/platform/wire-values.ts';
import { type JsonValue, parseJson } from '../../../src/values/json.ts';
import { heldBytes } from '../../support/held-bytes.ts';
import { rowsOf, type TelemetryRecord } from '../../support/telemetry-rows.ts';

const text = (...args: TelemetryRecord[]): string => Buffer.from(jsonCodec.encodeTelemetry(rowsOf(...args))).toString();

describe('the JSON codec', () => {
  it('writes the three forms of telemetry', () => {
    expect(Buffer.from(jsonCodec.encodeTelemetry(rowsOf({ values: { a: 1, b: 'x' } }))).toString()).toBe(
      '{"a":1,"b":"x"}',
    );
    expect(text({ ts: 5, values: { a: true, b: 2 } })).toBe('{"ts":5,"values":{"a":true,"b":2}}');
    expect(text({ ts: 5, values: { a: 1 } }, { ts: 6, values: { b: 9_007_199_254_740_993n } })).toBe(
      '[{"ts":5,"values":{"a":1}},{"ts":6,"values":{"b":9007199254740993}}]',
    );
  });

  it('makes one record of neighbours of one instant', () => {
    expect(
      text(
        { ts: 5, values: { a: 1 } },
        { ts: 5, values: { b: 2 } },
        { ts: 6, values: { a: 3 } },
        { ts: 5, values: { c: 4 } },
      ),
    ).toBe('[{"ts":5,"values":{"a":1,"b":2}},{"ts":6,"values":{"a":3}},{"ts":5,"values":{"c":4}}]');
  });

  it('has no key twice in a record', () => {
    expect(
      Buffer.from(
        jsonCodec.encodeTelemetry({ keys: ['a', 'b', 'a', 'b'], values: [1, 2, 3, 4], ts: [5, 5, 5, 5] }),
      ).toString(),
    ).toBe('[{"ts":5,"values":{"a":1,"b":2}},{"ts":5,"values":{"a":3,"b":4}}]');
  });

  it('never puts ts beside values into one record, which the server would take for a record within the record', () => {
    expect(text({ ts: 5, values: { ts: 1, a: 2, values: 3, b: 4 } })).toBe(
      '[{"ts":5,"values":{"ts":1,"a":2}},{"ts":5,"values":{"values":3,"b":4}}]',
    );
    expect(text({ ts: 5, values: { values: 1, ts: 2 } })).toBe(
      '[{"ts":5,"values":{"values":1}},{"ts":5,"values":{"ts":2}}]',
    );
  });

  it('spells every value as the wire wants it, whatever its size', () => {
    const scalar = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      // Values as sensors give them.
      fc
        .tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.integer({ min: 0, max: 9 }))
        .map(([whole, places]) => whole / 10 ** places),
      fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
      fc.string({ unit: 'binary' }),
      fc.boolean(),
      fc.constantFrom(
        0,
        -0,
        1e-7,
        1e21,
        1e15,
        999_999_999_999_999,
        1e9,
        2 ** 53,
        2 ** 60,
        2 ** 63,
        1e-16,
        0.1234567890123456,
        123_456_789_012_345.6,
        '1e5',
        'x'.repeat(100_000),
      ),
    );
    const values = fc.dictionary(fc.string({ unit: 'binary' }), scalar, {
      minKeys: 1,
      maxKeys: 4,
      noNullPrototype: true,
    });
    const records = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 2 ** 53 - 1 }), values), {
      minLength: 1,
      maxLength: 3,
      selector: ([ts]) => ts,
    });
    fc.assert(
      fc.property(records, (list) => {
        const expected = list.map(
          ([ts, each]) =>
            `{"ts":${ts},"values":{${Object.entries(each).map(([key, value]) => `${JSON.stringify(key)}:${wireValue(value)}`)}}}`,
        );
        const made = text(...list.map(([ts, each]) => ({ ts, values: each })));
        expect(made === (expected.length === 1 ? expected[0] : `[${expected.join(',')}]`)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it('remembers few of the keys that it has written, should they never end', async () => {
    const before = await heldBytes();
    for (let batch = 0; batch < 60; batch += 1) {
      const values = Object.fromEntries(
        Array.from({ length: 1_000 }, (_, at) => [`${batch}/${at}/`.padEnd(250, 'k'), 1]),
      );
      jsonCodec.encodeTelemetry(rowsOf({ ts: 1, values }));
    }
    // Sixty thousand keys of 250 bytes are above 30 MB; four thousand, and the buffer of one body, a few.
    expect((await heldBytes()) - before).toBeLessThan(12e6);
  });

  it('gives out bodies that the next one leaves as they are', () => {
    const first = jsonCodec.encodeTelemetry(rowsOf({ ts: 1, values: { a: 'first' } }));
    jsonCodec.encodeTelemetry(rowsOf({ ts: 2, values: { a: 'second' } }));
    expect(Buffer.from(first).toString()).toBe('{"ts":1,"values":{"a":"first"}}');
  });

  it('reads back what it writes, longs included', () => {
    const value: JsonValue = { a: [9_007_199_254_740_993n, 1.5, null, 'x'], b: { c: true } };
    expect(jsonCodec.decode(Buffer.from(jsonCodec.encode(value)))).toEqual(value);
    expect(parseJson(String(jsonCodec.encode(value)))).toEqual(value);
  });
});
