import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/values/json.ts';
import { mismatchOf, shapeAsJson, type ValueShape } from '../../../src/values/value-shape.ts';

const shape: ValueShape = {
  type: 'object',
  required: ['name', 'value'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5, pattern: '^[a-z]+$' },
    value: { type: ['number', 'boolean'], minimum: 0, maximum: 10 },
    list: { type: 'array', maxItems: 2, items: { type: 'integer' } },
    mode: { enum: ['auto', { fixed: 1 }] },
  },
};

describe('a value shape', () => {
  it.each<[JsonValue, string | undefined]>([
    [{ name: 'a', value: 1 }, undefined],
    [{ name: 'a', value: true, list: [1, 2n ** 60n], mode: { fixed: 1 } }, undefined],
    [{ value: 1 }, 'value.name is missing'],
    [{ name: 'a', value: 1, more: 1 }, 'value.more is not known'],
    [{ name: 'a', value: '1' }, 'value.value is "1", expected number or boolean'],
    [{ name: 'a', value: 11 }, 'value.value is 11, at most 10 is allowed'],
    [{ name: 'a', value: -(2n ** 60n) }, 'value.value is -1152921504606846976, at least 0 is allowed'],
    [{ name: '', value: 1 }, 'value.name is shorter than 1 characters'],
    [{ name: 'abcdef', value: 1 }, 'value.name is longer than 5 characters'],
    [{ name: 'A', value: 1 }, 'value.name is "A", expected to match ^[a-z]+$'],
    [{ name: 'a', value: 1, list: [1, 2.5] }, 'value.list[1] is 2.5, expected integer'],
    [{ name: 'a', value: 1, list: [1, 2, 3] }, 'value.list has more than 2 items'],
    [{ name: 'a', value: 1, mode: 'off' }, 'value.mode is "off", expected one of ["auto",{"fixed":1}]'],
    [[], 'value is [], expected object'],
    [null, 'value is null, expected object'],
  ])('judges value %#', (value, mismatch) => {
    expect(mismatchOf(shape, value)).toBe(mismatch);
  });

  it('knows only an object’s own keys', () => {
    for (const key of ['constructor', 'toString', 'hasOwnProperty', '__proto__']) {
      const value = JSON.parse(`{"name":"a","value":1,"${key}":{"name":"b"}}`) as JsonValue;
      expect(mismatchOf(shape, value)).toBe(`value.${key} is not known`);
      expect(mismatchOf({ type: 'object', required: [key] }, {})).toBe(`value.${key} is missing`);
    }
  });

  it('says something about every value, throws at none, and stays short', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const mismatch = mismatchOf(shape, value as JsonValue);
        expect(mismatch === undefined || mismatch.length < 400).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is shown as it is', () => {
    expect(shapeAsJson(shape)).toEqual(shape);
  });
});
