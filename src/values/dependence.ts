/** Order of things that are made of others. */
import { getOrInsert } from './get-or-insert.ts';

/**
 * Ranks, each greater than those of all that a thing is made of; in linear time. What is made of itself has none, nor has what is made of that.
 * @param partsOf those of `all` that one is made of.
 */
export function ranksByDependence<T>(all: readonly T[], partsOf: (one: T) => readonly T[]): ReadonlyMap<T, number> {
  const users = new Map<T, T[]>();
  const left = new Map<T, number>();
  for (const one of all) {
    const parts = partsOf(one);
    left.set(one, parts.length);
    for (const part of parts) getOrInsert(users, part, () => []).push(one);
  }
  const ranks = new Map<T, number>();
  let level = all.filter((one) => left.get(one) === 0);
  for (let rank = 0; level.length > 0; rank += 1) {
    const next: T[] = [];
    for (const one of level) {
      ranks.set(one, rank);
      for (const user of users.get(one) ?? []) {
        const less = (left.get(user) ?? 0) - 1;
        left.set(user, less);
        if (less === 0) next.push(user);
      }
    }
    level = next;
  }
  return ranks;
}
