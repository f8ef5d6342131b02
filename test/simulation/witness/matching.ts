/** Gives each of some things one of its candidates so that as many as possible have one (Kuhn's augmenting paths). */

/** @returns for each thing the candidate that it got, or undefined; no candidate is given twice. */
export function matched<C>(candidates: readonly (readonly C[])[]): (C | undefined)[] {
  const owner = new Map<C, number>();
  const given: (C | undefined)[] = candidates.map(() => undefined);
  const find = (thing: number, tried: Set<C>): boolean => {
    for (const candidate of candidates[thing] ?? []) {
      if (tried.has(candidate)) continue;
      tried.add(candidate);
      const other = owner.get(candidate);
      if (other !== undefined && !find(other, tried)) continue;
      owner.set(candidate, thing);
      given[thing] = candidate;
      return true;
    }
    return false;
  };
  for (let thing = 0; thing < candidates.length; thing += 1) find(thing, new Set());
  return given;
}
