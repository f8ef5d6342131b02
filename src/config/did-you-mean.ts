/** Finds what a person meant to type. */

/** Longer words are no words, and comparing them takes long. */
const MAX_WORD_LENGTH = 64;
/** Looking through all keys of a table of registers, for each of a hundred faults, would take seconds. */
const MAX_CANDIDATES = 1_000;
/** More than anybody reads through. */
const MAX_LISTED = 30;

/** The candidate nearest to a word, when it is near enough to be what was meant. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  // Further away is not meant; each missing letter is a difference of its own.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  let looked = 0;
  for (const candidate of candidates) {
    looked += 1;
    if (looked > MAX_CANDIDATES) break;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `did you mean "period"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): { readonly hint?: string } {
  const found = nearest(word, candidates);
  return found === undefined ? {} : { hint: `did you mean "${found}"?` };
}

/** The same, or `otherwise`, looked for only when it is told: thousands of words may be wrong, each with a thousand candidates. */
export function didYouMeanWhenTold(word: string, candidates: Iterable<string>, otherwise?: string): { hint: () => string | undefined } {
  return { hint: () => didYouMean(word, candidates).hint ?? otherwise };
}

/** `one of a, b, c`; of many only the first. */
export function oneOf(names: readonly string[]): string {
  const more = names.length - MAX_LISTED;
  return `one of ${names.slice(0, MAX_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  // Three rows take turns: a new one for each letter of each candidate would fill the memory.
  let [beforeLast, current] = [[...last], [...last]];
  for (let row = 1; row <= a.length; row += 1) {
    current[0] = row;
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min((current[column - 1] ?? 0) + 1, (last[column] ?? 0) + 1, (last[column - 1] ?? 0) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current[column] = cost;
    }
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return last[b.length] ?? 0;
}
