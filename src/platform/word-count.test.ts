/** Acknowledgements beside the segments of exchanges: half of what an idle poll costs in headers. */
import { expect, it } from 'vitest';
import { createWordCount, HEADERS } from './word-count.ts';

it('counts an acknowledgement of its own where no segment goes its way in time', () => {
  const words = createWordCount();
  expect(words.began(0)).toBe(HEADERS);
  // The server acknowledges a poll at once, and answers it after 25 s.
  expect(words.ended(25_000)).toBe(2 * HEADERS);
  expect(words.began(25_100)).toBe(2 * HEADERS);
});

it('counts none where a segment goes with it, and one for exchanges that begin or end together', () => {
  const words = createWordCount();
  expect([words.began(0), words.began(2)]).toEqual([HEADERS, 0]);
  expect([words.ended(30), words.ended(32)]).toEqual([HEADERS, 0]);
  expect(words.began(60)).toBe(HEADERS);
});
