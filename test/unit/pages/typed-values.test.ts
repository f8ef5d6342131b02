/** What people type into fields of the page: numbers and spans of time as they write them, and nothing guessed. */
import { expect, it } from 'vitest';

interface Typed {
  numberIn(text: string): number | undefined;
  spanIn(text: string): string;
}
const { numberIn, spanIn } = (await import(
  new URL('../../../src/pages/shared/typed-values.js', import.meta.url).href
)) as Typed;

it.each([
  ['-17,5', -17.5],
  ['-17.5', -17.5],
  ['−17,5', -17.5],
  ['- 3', -3],
  [' +20 ', 20],
  [',5', 0.5],
  ['-0', 0],
  ['1e-7', 1e-7],
])('the number %j is %d', (text, number) => {
  expect(numberIn(text)).toBe(number);
});

it.each(['', 'abc', '-', '1.234,5', '1,2,3', '12 °C', '0x10', '1e999', 'Infinity', '5 6'])(
  'is no number: %j',
  (text) => {
    expect(numberIn(text)).toBeUndefined();
  },
);

it.each([
  ['10 s', '10s'],
  ['5 min', '5m'],
  ['1h 30m', '1h30m'],
  ['1 h 30 Min.', '1h30m'],
  ['2 Stunden', '2h'],
  ['1,5 h', '1.5h'],
  ['500 ms', '500ms'],
  [' 1d ', '1d'],
])('the span %j is %j', (text, span) => {
  expect(spanIn(text)).toBe(span);
});

it.each(['soon', '10', '5 lightyears', '1h 30', ''])('is no span, and stays as it is: %j', (text) => {
  expect(spanIn(text)).toBe(text);
});
