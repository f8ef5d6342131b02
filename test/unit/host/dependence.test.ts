import { expect, it } from 'vitest';
import { ranksByDependence } from '../../../src/values/dependence.ts';

function ranks(parts: Readonly<Record<string, string>>): unknown {
  return Object.fromEntries(ranksByDependence(Object.keys(parts), (one) => [...(parts[one] ?? '')]));
}

it('ranks each after all that it is made of', () => {
  expect(ranks({ d: 'abc', c: 'bb', b: 'a', a: '' })).toEqual({ a: 0, b: 1, c: 2, d: 3 });
});

it('ranks nothing that is made of itself, nor what is made of that', () => {
  expect(ranks({ a: '', b: 'ca', c: 'b', d: 'c', e: 'e' })).toEqual({ a: 0 });
});

it('ranks a chain of 100,000', () => {
  const all = Array.from({ length: 100_000 }, (_, at) => at);
  expect(ranksByDependence(all, (at) => (at === 0 ? [] : [at - 1])).get(99_999)).toBe(99_999);
});
