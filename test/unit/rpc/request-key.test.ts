import { expect, it } from 'vitest';
import { contentOf, requestKey } from '../../../src/rpc/request-key.ts';
import type { JsonValue } from '../../../src/values/json.ts';

const keyOf = (params: JsonValue, id = 7, method = 'm'): string => requestKey({ id, method, params });

it('is one for one content, whatever the order of keys at any depth', () => {
  expect(keyOf({ a: 1, b: [{ c: 2n ** 60n, d: { e: null, f: 'x' } }] })).toBe(
    keyOf({ b: [{ d: { f: 'x', e: null }, c: 2n ** 60n }], a: 1 }),
  );
});

it('is another for every other content, and for what only looks alike', () => {
  const contents: JsonValue[] = [
    null,
    true,
    1,
    1n,
    '1',
    '',
    [],
    {},
    [1],
    [[1]],
    [1, 2],
    [2, 1],
    { a: 1 },
    { a: '1' },
    { b: 1 },
    { a: { a: 1 } },
    { 0: 1 },
  ];
  // A whole number is the same number, however it arrived.
  expect(new Set(contents.map((params) => keyOf(params))).size).toBe(contents.length - 1);
  expect(keyOf(1)).toBe(keyOf(1n));
});

it('tells id and content apart', () => {
  expect(keyOf(1)).toMatch(/^7:[\w-]{22}$/);
  expect(contentOf(keyOf(1))).toBe(contentOf(keyOf(1, 8)));
  expect(contentOf(keyOf(1))).not.toBe(contentOf(keyOf(1, 7, 'n')));
  expect(keyOf(1)).not.toBe(keyOf(1, 8));
});
