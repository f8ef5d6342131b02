/** Tokens and ids: every letter is as likely, and the same bytes make the same. */
import { expect, it } from 'vitest';
import { randomId, randomText, systemRandomBytes } from '../../../src/host/random.ts';

it('draws each letter as often as the others, and passes over the bytes that would favour the first ones', () => {
  let next = 0;
  const every = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => next++ % 256));
  const text = randomText(every, 'abc', 255);
  expect([...'abc'].map((letter) => [...text].filter((one) => one === letter).length)).toEqual([85, 85, 85]);
  expect(randomText((count) => Buffer.alloc(count, next++ % 2 === 0 ? 255 : 1), 'abc', 3)).toBe('bbb');
});

it('makes a UUID of version 4 of sixteen bytes', () => {
  expect(randomId((count) => Buffer.alloc(count, 0xff))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
  expect(randomId((count) => Buffer.alloc(count))).toBe('00000000-0000-4000-8000-000000000000');
  expect(randomId(systemRandomBytes)).not.toBe(randomId(systemRandomBytes));
});
