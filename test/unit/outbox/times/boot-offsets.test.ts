/** Which spans of a boot were given out as a guess, when there are more than are kept apart. */
import { expect, it } from 'vitest';
import { type Span, withSpan } from '../../../../src/outbox/times/boot-offsets.ts';

/** Each a hundred after the one before. */
const SIXTEEN: readonly Span[] = Array.from({ length: 16 }, (_none, at): Span => [100 * at, 100 * at + 10]);

it.each<[string, Span, Span[]]>([
  [
    'before',
    [0, 98],
    [
      [0, 98],
      [100, 200],
    ],
  ],
  ['touching from before', [0, 99], [[0, 200]]],
  ['over the beginning', [50, 150], [[50, 200]]],
  ['within', [120, 150], [[100, 200]]],
  ['over the end', [150, 250], [[100, 250]]],
  ['touching from behind', [201, 250], [[100, 250]]],
  [
    'behind',
    [202, 250],
    [
      [100, 200],
      [202, 250],
    ],
  ],
])('one more that lies %s', (_where, more, expected) => {
  expect(withSpan([[100, 200]], more)).toEqual(expected);
});

it('one more that touches two makes them one', () => {
  expect(
    withSpan(
      [
        [0, 10],
        [20, 30],
      ],
      [11, 19],
    ),
  ).toEqual([[0, 30]]);
});

it('keeps sixteen apart', () => {
  expect(withSpan(SIXTEEN.slice(1), [0, 10])).toEqual(SIXTEEN);
});

it.each<[Span, number]>([
  [[12, 20], 0],
  [[150, 198], 2],
  [[712, 720], 7],
  [[1_512, 1_520], 15],
  [[1_450, 1_498], 15],
])('of seventeen makes the two one that lie nearest: with %j', (more, at) => {
  const [from, to] = SIXTEEN[at] as Span;
  const joined: Span = [Math.min(from, more[0]), Math.max(to, more[1])];
  expect(withSpan(SIXTEEN, more)).toEqual(SIXTEEN.map((span, index) => (index === at ? joined : span)));
});
