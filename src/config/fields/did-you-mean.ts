/** Finds what a person meant to type. */
import { distance } from 'fastest-levenshtein';

/** Longer words are no words, and comparing them takes long. */
const MAX_WORD_LENGTH = 64;
/** Looking through all keys of a table of registers, for each of a hundred faults, would take long. */
const MAX_CANDIDATES = 1_000;
/** More than anybody reads through. */
const MAX_LISTED = 30;

/** The candidate nearest to a word, when it is near enough to be what was meant. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  const swapped = swapsOf(wanted);
  let best: string | undefined;
  // Further away is not meant; each missing letter is a difference of its own.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of [...candidates].slice(0, MAX_CANDIDATES)) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const other = candidate.toLowerCase();
    const plain = distance(wanted, other);
    if (plain > bestDistance) continue;
    const found = Math.min(plain, ...swapped.map((one) => 1 + distance(one, other)));
    // With not one letter in common it is another word.
    if (found < bestDistance && found < Math.max(word.length, candidate.length))
      [best, bestDistance] = [candidate, found];
  }
  return best;
}

/** A word with two neighbours swapped, each way: one mistake of a person's, which the library counts as two. */
function swapsOf(word: string): readonly string[] {
  return Array.from(word.slice(1), (letter, at) => `${word.slice(0, at)}${letter}${word[at]}${word.slice(at + 2)}`);
}

/** `did you mean "period"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): { readonly hint?: string } {
  const found = nearest(word, candidates);
  return found === undefined ? {} : { hint: `did you mean "${found}"?` };
}

/** The same, or `otherwise`, looked for only when it is told: thousands of words may be wrong, each with a thousand candidates. */
export function didYouMeanWhenTold(
  word: string,
  candidates: Iterable<string>,
  otherwise?: string,
): { hint: () => string | undefined } {
  return { hint: () => didYouMean(word, candidates).hint ?? otherwise };
}

/** `one of a, b, c`; of many only the first. */
export function oneOf(names: readonly string[]): string {
  const more = names.length - MAX_LISTED;
  return `one of ${names.slice(0, MAX_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
