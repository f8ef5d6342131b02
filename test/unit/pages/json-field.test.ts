import fc from 'fast-check';
import { expect, it } from 'vitest';

interface Mistake {
  readonly words: string;
  readonly at: number;
}

/** The pages are JavaScript, which has no types. */
const PAGE: string = '../../../src/pages/shared/json-field.js';
const { jsonMistake } = (await import(PAGE)) as { readonly jsonMistake: (text: string) => Mistake | undefined };

it.each([
  ['', 0, 'It ends where a value is due:'],
  ['{oops', 1, 'A name in double quotes is due:'],
  ['{"a" 1}', 5, 'A colon is due:'],
  ['{"a": 1,}', 8, 'Nothing follows the comma:'],
  ['{"a": 1', 7, 'It ends where } is due:'],
  ['[1 2]', 3, 'A comma or ] is due:'],
  ["'a'", 0, 'Text stands in double quotes:'],
  ['"a', 0, 'The quotes are not closed:'],
  ['"a\\x"', 2, 'No escape is written so:'],
  ['"a\nb"', 2, 'A line break within quotes is written \\n:'],
  ['01', 0, 'No value begins so:'],
  ['1, 2', 1, 'The value has ended; this is too much:'],
  ['1 1', 2, 'The value has ended; this is too much:'],
  ['+1', 0, 'No value begins so:'],
])('finds the mistake in %j', (text, at, words) => {
  expect(jsonMistake(text)).toEqual({ words, at });
});

it('offers quotes for a bare word', () => {
  expect(jsonMistake(' eco mode ')).toEqual({ words: 'Text needs quotes:', at: 1, asText: '"eco mode"' });
});

it('finds a mistake in what is no JSON, and none in what is', () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const nearly = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, more]) => {
    const place = at % (json.length + 1);
    return json.slice(0, place) + more + json.slice(place + 1);
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), nearly, fc.string()), (text) => {
      expect(jsonMistake(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 2_000 },
  );
});
