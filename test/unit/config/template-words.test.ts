/** Sizes of what is made of templates, known before it is made. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { filled, TemplateSize } from '../../../src/config/template-words.ts';

const texts = fc
  .array(fc.constantFrom('{n}', '{place}', '{no}', '$' + '{n}', 'a', 'xyz', '{', '}'))
  .map((pieces) => pieces.join(''));
const values = fc.letrec((again) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    texts,
    fc.integer(),
    fc.array(again('value')),
    fc.array(again('value')).map((list) => ({ key: list })),
  ),
})).value;

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  const keys = Array.isArray(value) ? 0 : Object.keys(value).join('').length;
  return Object.values(value).reduce((sum: number, one) => sum + charactersIn(one), keys);
}

it('the characters of a copy are those that are counted before', () => {
  fc.assert(
    fc.property(values, fc.string(), (value, place) => {
      const words = { n: 'seven', place };
      expect(new TemplateSize(value).charactersWith(words)).toBe(charactersIn(filled(value, words)));
    }),
  );
});
