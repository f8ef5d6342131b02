import { describe, expect, it } from 'vitest';
import { PayloadFault } from '../../../../src/stand-ins/local-platform/http-reply.ts';
import {
  readAttributes,
  readDocument,
  readSetAttributes,
  readTelemetry,
} from '../../../../src/stand-ins/local-platform/payload.ts';
import {
  deviceForm,
  plainForm,
  type StoredValue,
  strictForm,
} from '../../../../src/stand-ins/local-platform/stored-value.ts';
import { stringifyJson } from '../../../../src/values/json.ts';

const NOW_MS = 1_780_000_000_000;
const cast = { castStrings: true };
const strict = { castStrings: false };
const telemetry = (text: string, rules = cast): ReturnType<typeof readTelemetry> =>
  readTelemetry(Buffer.from(text), 'application/json', NOW_MS, rules);
const one = (source: string, rules = cast): StoredValue | undefined =>
  readAttributes(Buffer.from(`{"k":${source}}`), undefined, rules).k;

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
    ['part of a millisecond, which is cut off', '{"ts":1.9,"values":{"a":1}}', [{ ts: 1, values: { a: 1 } }]],
    ['a time as text', '{"ts":"7","values":{"a":1}}', [{ ts: 7, values: { a: 1 } }]],
    ['nothing', '[]', []],
  ])('is read from %s', (_name, text, records) => expect(telemetry(text)).toEqual(records));

  it('has a time that wraps past 64 bits', () => {
    expect(telemetry('{"ts":99999999999999999999,"values":{"a":1}}')[0]?.ts).toBe(
      Number(BigInt.asIntN(64, 99_999_999_999_999_999_999n)),
    );
  });

  it.each(['{', '5', '"x"', '[1]', '[[]]', '{"a":1}{', `${'['.repeat(256)}${']'.repeat(256)}`])(
    'is refused with text: %j',
    (text) => {
      expect(() => telemetry(text)).toThrow(expect.objectContaining({ silent: false }));
    },
  );

  it.each(['{"ts":"soon","values":{}}', '{"ts":null,"values":{}}', '{"ts":1,"values":5}', '{"ts":1,"values":[]}'])(
    'is refused without a word: %j',
    (text) => {
      expect(() => telemetry(text)).toThrow(PayloadFault);
      expect(() => telemetry(text)).toThrow(expect.objectContaining({ silent: true }));
    },
  );

  it.each<[string, unknown]>([
    ["{'a':1}", { a: 1 }],
    ['{a:1;b=two // three\n}', { a: 1, b: 'two' }],
    ['\ufeff{"a":1}', { a: 1 }],
    ['{"a":NaN}', { a: 'NaN' }],
    ['{"a":01}', { a: 1 }],
    ['{"a":TRUE}', { a: true }],
    ['{"a":[1,,2,]}', { a: [1, null, 2, null] }],
    ['{a => "\\u0041\\\'"}', { a: "A'" }],
  ])('is read as leniently as the real server does: %s', (text, values) =>
    expect(telemetry(text)[0]?.values).toEqual(values),
  );
});

describe('a value', () => {
  // Sent, and in the words of the server: as devices read it, and as people do strictly.
  it.each<[string, string, string]>([
    ['42', '42', '42'],
    ['-0', '0', '0'],
    ['20.0', '20.0', '20.0'],
    ['21.5', '21.5', '21.5'],
    ['1e3', '1000', '1000'],
    ['1.50e1', '15', '15'],
    ['10000000.0', '10000000', '10000000'],
    ['9007199254740993', '9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807', '9223372036854775807'],
    ['9223372036854775808', '"9223372036854775808"', '"9223372036854775808"'],
    ['1e20', '"100000000000000000000"', '"100000000000000000000"'],
    ['0.1234567890123456', '0.1234567890123456', '0.1234567890123456'],
    ['0.12345678901234567', '"0.12345678901234567"', '"0.12345678901234567"'],
    ['0.0000000000000002', '"0.00000000000000020"', '"0.00000000000000020"'],
    ['0.0000000000000012', '1.2E-15', '1.2E-15'],
    ['"007"', '7', '7'],
    ['"1.50"', '1.5', '1.5'],
    ['"1e5"', '"1e5"', '"1e5"'],
    ['"+5"', '"+5"', '"+5"'],
    ['true', 'true', 'true'],
    [
      '{"a":[1,9007199254740993,1e-20,null],"b":null}',
      '{"a":[1,9007199254740993,1e-20,null]}',
      '{"a":[1,9007199254740993,1.0E-20,null]}',
    ],
    ['{"a":"x\\u0000y"}', '{"a":"xy"}', '{"a":"xy"}'],
  ])('%s is stored by its own rule', (source, read, shown) => {
    const value = one(source) as StoredValue;
    expect(stringifyJson(deviceForm(value))).toBe(read);
    expect(stringifyJson(strictForm(value))).toBe(shown);
    expect(typeof value === 'string' ? value : plainForm(value)).toBe(read.replace(/^"|"$/g, ''));
  });

  it('of null is skipped where a device sends it, and refused where a person does', () => {
    expect(one('null')).toBeUndefined();
    expect(() => readSetAttributes(Buffer.from('{"k":null}'))).toThrow("Can't parse value: null");
  });

  it('that a person sets is read once: a whole double stays one whatever its size', () => {
    const { big, huge } = readSetAttributes(Buffer.from('{"big":12345678.0,"huge":1000000000000000000000.0}'));
    expect([big, huge].map((value) => stringifyJson(value as StoredValue))).toEqual(['1.2345678E7', '1.0E21']);
  });

  it('is refused in strict mode where the type would change, and strings stay strings', () => {
    for (const source of ['9223372036854775808', '0.12345678901234567', '1e20'])
      expect(() => one(source, strict)).toThrow(PayloadFault);
    expect(one('"007"', strict)).toBe('007');
  });

  it('cannot reach a prototype', () => {
    expect(readDocument(Buffer.from('{"__proto__":{"x":1},"a":1}'), undefined)).toEqual({ a: 1 });
    expect(readDocument(Buffer.from("{'__proto__':{'x':1},'a':1}"), undefined)).toEqual({ a: 1 });
  });
});
