/**
 * The two ways in which a source file is changed on its way to a test, never on disk: with one mutant in it, or with a mark before every
 * place, so that it is known which tests reach it. Lines stay where they are.
 */

import { REACHED } from './order.ts';
import { placesIn } from './places.ts';
import type { Mutant } from './rooms.ts';

export function withMutant(
  text: string,
  { start, end, text: becomes }: Pick<Mutant, 'start' | 'end' | 'text'>,
): string {
  return `${text.slice(0, start)}${becomes}${text.slice(end)}`;
}

/** `first` is the number of the file's first place among those of all files. */
export function withMarks(text: string, first: number): string {
  const inserts: { at: number; text: string; opens: boolean; length: number }[] = [];
  for (const [index, { start, end }] of placesIn(text).entries()) {
    inserts.push({ at: start, text: `(reachedPlace(${index}),`, opens: true, length: end - start });
    inserts.push({ at: end, text: ')', opens: false, length: end - start });
  }
  // At one offset: what ends there before what begins there, and the longer outside the shorter.
  inserts.sort(
    (a, b) => a.at - b.at || Number(a.opens) - Number(b.opens) || (a.opens ? b.length - a.length : a.length - b.length),
  );
  let marked = '';
  let at = 0;
  for (const insert of inserts) {
    marked += text.slice(at, insert.at) + insert.text;
    at = insert.at;
  }
  // A function, as it may be called before this module's own turn, when modules import each other.
  return `${marked}${text.slice(at)}\nfunction reachedPlace(index) { const all = globalThis.${REACHED}; if (all !== undefined) all[${first} + index] = 1; }\n`;
}
