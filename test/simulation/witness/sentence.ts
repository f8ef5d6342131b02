/** A promise as the witness states it, and the words in which it says that one was broken. */
import type { People } from '../people.ts';
import type { World } from '../world.ts';

export interface Sentence {
  readonly name: string;
  /** Contradictions in a person's words; none when it holds. */
  readonly contradictions: (world: World, people: People) => readonly string[];
}

const SHOWN = 5;

export function few(faults: readonly string[]): string[] {
  return faults.length <= SHOWN ? [...faults] : [...faults.slice(0, SHOWN), `and ${faults.length - SHOWN} more`];
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}
