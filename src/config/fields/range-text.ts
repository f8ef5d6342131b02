/** A range in words, of which either end may be open. */
export function rangeText(least: number, greatest: number): string {
  if (greatest === Number.POSITIVE_INFINITY) return `at least ${least}`;
  return least === Number.NEGATIVE_INFINITY ? `at most ${greatest}` : `${least} to ${greatest}`;
}
