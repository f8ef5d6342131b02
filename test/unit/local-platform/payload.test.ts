import { describe, expect, it } from 'vitest';
import { PayloadFault, readAttributes, readDocument, readTelemetry } from '../../../src/local-platform/payload.ts';

const NOW_MS = 1_780_000_000_000;
const cast = { castStrings: true };
const strict = { castStrings: false };
const telemetry = (text: string, rules = cast): ReturnType<typeof readTelemetry> =>
  readTelemetry(Buffer.from(text), 'application/json', NOW_MS, rules);
const one = (source: string, rules = cast): unknown => readAttributes(Buffer.from(`{"k":${source}}`), undefined, rules).k;

describe('telemetry', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a":1,"b":"x"}', [{ ts: NOW_MS, values: { a: 1, b: 'x' } }]],
    ['an array', '[{"a":1},{"a":2}]', [1, 2].map((a) => ({ ts: NOW_MS, values: { a } }))],
    ['a timestamped object', '{"ts":5,"values":{"a":1}}', [{ ts: 5, values: { a: 1 } }]],
    [
      'an array of timestamped objects',
      '[{"ts":5,"values":{"a":1}},{"b":2}]',
      [
        { ts: 5, values: { a: 1 } },
        { ts: NOW_MS, values: { b: 2 } },
      ],
    ],
    ['ts without values: data with a key called ts', '{"ts":5}', [{ ts: NOW_MS, values: { ts: 5 } }]],
    ['nothing', '[]', []],
  ])('is read from %s', (_name, text, records) => expect(telemetry(text)).toEqual(records));

  it.each(['', '{', 'null', '5', '"x"', '[1]', '[[]]', '{"ts":"soon","values":{}}', '{"ts":1,"values":5}', '{"a":1}{'])(
    'is not read from %j',
    (text) => {
      expect(() => telemetry(text)).toThrow(PayloadFault);
    },
  );
});

describe('a value', () => {
  it.each<[string, unknown]>([
    ['42', 42],
    ['-0', 0],
    ['20.0', 20],
    ['21.5', 21.5],
    ['1e3', 1000],
    ['1.5e3', 1500],
    ['1e-7', 1e-7],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['9223372036854775807', 9_223_372_036_854_775_807n],
    ['9223372036854775808', '9223372036854775808'],
    ['1e20', '100000000000000000000'],
    ['100000000000000000000.0', 1e20],
    ['0.1234567890123456', 0.1234567890123456],
    ['0.12345678901234567', '0.12345678901234567'],
    ['"007"', 7],
    ['"1.50"', 1.5],
    ['"1e5"', '1e5'],
    ['"+5"', '+5'],
    ['"abc"', 'abc'],
    ['true', true],
    ['{"a":[1,9007199254740993,1e-20,null]}', { a: [1, 9_007_199_254_740_993n, 1e-20, null] }],
    ['null', undefined],
  ])('%s is stored by its own rule', (source, stored) => {
    const value = one(source);
    expect(typeof value).toBe(typeof stored);
    expect(typeof value === 'number' ? value + 0 : value).toEqual(stored);
  });

  it('is refused in strict mode where the type would change, and strings stay strings', () => {
    for (const source of ['9223372036854775808', '0.12345678901234567', '1e20']) expect(() => one(source, strict)).toThrow(PayloadFault);
    expect(one('"007"', strict)).toBe('007');
  });

  it('is lost when its key is blank, too long or markup', () => {
    const text = `{"":1," ":2,"${'k'.repeat(256)}":3,"<b>":4,"good":5}`;
    expect(telemetry(text)).toEqual([{ ts: NOW_MS, values: { good: 5 } }]);
  });

  it('cannot reach a prototype', () => {
    expect(readDocument(Buffer.from('{"__proto__":{"x":1},"a":1}'), undefined)).toEqual({ a: 1 });
  });
});
