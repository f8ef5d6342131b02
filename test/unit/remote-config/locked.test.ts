import { expect, it } from 'vitest';
import { lockedChanges } from '../../../src/remote-config/locked.ts';

it('refuses every change of a value', () => {
  expect(lockedChanges({ a: [1], b: 2 }, { a: [1], b: 3, c: 4 }).map(({ path }) => path)).toEqual(['b', 'c']);
  expect(lockedChanges({ a: [1] }, { a: [1] })).toEqual([]);
});
