/** Fits lists into a number of lines: what does not fit is counted, and of several lists each has its turn. */

/** Lines of one entry. */
export type Item = readonly string[];

export interface ItemList {
  /** Name of several of its entries. */
  readonly name: string;
  readonly items: readonly Item[];
}

/** Lines that tell of what is missing, of a list or of several. */
const LINES_FOR_MORE = 2;

/** Returns the first entries of a list, and a line for the rest. */
export function fitted(items: readonly Item[], lines: number, more: (count: number) => string): readonly string[] {
  const shown = items.slice(0, countThatFits(items, lines));
  const rest = items.length - shown.length;
  return [...shown.flat(), ...(rest === 0 ? [] : [more(rest)])];
}

function countThatFits(items: readonly Item[], lines: number): number {
  if (items.flat().length <= lines) return items.length;
  let room = lines - 1;
  const end = items.findIndex((item) => {
    room -= item.length;
    return room < 0;
  });
  return end === -1 ? items.length : end;
}

/** Returns the first entries of each list, in the lists' order; they take turns, so that a long list hides no other one. */
export function fairly(
  lists: readonly ItemList[],
  lines: number,
  more: (rest: string) => readonly string[],
): readonly string[] {
  const counts = turnsThatFit(lists, lines);
  const shown = lists.flatMap(({ items }, at) => items.slice(0, counts[at]).flat());
  const rest = lists.flatMap(({ name, items }, at) => {
    const missing = items.length - (counts[at] ?? 0);
    return missing === 0 ? [] : [`${missing} ${name}`];
  });
  return [...shown, ...(rest.length === 0 ? [] : more(rest.join(', ')))];
}

function turnsThatFit(lists: readonly ItemList[], lines: number): readonly number[] {
  const all = lists.map(({ items }) => items.length);
  if (lists.flatMap(({ items }) => items.flat()).length <= lines) return all;
  const counts = lists.map(() => 0);
  let room = lines - LINES_FOR_MORE;
  for (let turn = 0; turn < Math.max(...all); turn += 1) {
    for (const [at, { items }] of lists.entries()) {
      const item = items[turn];
      if (item === undefined) continue;
      room -= item.length;
      if (room < 0) return counts;
      counts[at] = turn + 1;
    }
  }
  return counts;
}
