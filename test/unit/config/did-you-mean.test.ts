import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, editDistance, nearest } from '../../../src/config/did-you-mean.ts';

describe('"did you mean"', () => {
  it.each([
    ['perod', 'period'],
    ['adress', 'address'],
    ['lineS', 'line'],
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

  it('measures a distance: zero for the same, the same both ways, one for a swap of neighbours', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(fc.property(word, (a) => editDistance(a, a) === 0));
    fc.assert(fc.property(word, word, (a, b) => editDistance(a, b) === editDistance(b, a)));
    fc.assert(fc.property(word, word, (a, b) => editDistance(a, b) <= Math.max(a.length, b.length)));
    expect(editDistance('period', 'peroid')).toBe(1);
  });
});
