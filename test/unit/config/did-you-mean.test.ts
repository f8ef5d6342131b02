import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from '../../../src/config/fields/did-you-mean.ts';

describe('"did you mean"', () => {
  it.each([
    ['perod', 'period'],
    ['adress', 'address'],
    ['lineS', 'line'],
    ['lien', 'line'],
    ['peroids', 'period'],
    ['baudrate', 'baudRate'],
    ['eprid', undefined],
    ['x', undefined],
  ])('takes %s for %s', (word, meant) => {
    expect(nearest(word, ['period', 'deadline', 'address', 'line', 'baudRate'])).toBe(meant);
  });

  it('says nothing rather than something far away', () => {
    expect(didYouMean('temperature', ['period', 'bus'])).toEqual({});
    expect(didYouMean('anything', [])).toEqual({});
  });

  it('takes a word with one letter gone, added, wrong or changed round with its neighbour for the word, and the word for itself', () => {
    const word = fc.stringMatching(/^[a-z]{3,20}$/);
    const slip = fc.constantFrom(
      (text: string, at: number) => text.slice(0, at) + text.slice(at + 1),
      (text: string, at: number) => `${text.slice(0, at)}x${text.slice(at)}`,
      (text: string, at: number) => `${text.slice(0, at)}x${text.slice(at + 1)}`,
      (text: string, at: number) => text.slice(0, at) + (text[at + 1] ?? '') + text[at] + text.slice(at + 2),
    );
    fc.assert(
      fc.property(word, slip, fc.nat(), (meant, change, number) => {
        expect(nearest(change(meant, number % meant.length), [meant])).toBe(meant);
        expect(nearest(meant, [`${meant}s`, meant])).toBe(meant);
      }),
    );
  });
});
