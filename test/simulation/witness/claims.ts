/** Ownership of the gateway: who may become its owner. */
import type { People } from '../people.ts';
import type { World } from '../world.ts';
import { few, type Sentence, seconds } from './sentence.ts';

export const CLAIMS: readonly Sentence[] = [
  { name: 'who was shown a claim’s secret becomes the owner with it', contradictions: claimed },
];

/** How long a claim is open is known by the clock: one that was ever wrong may take an open claim for one that is over. */
function claimed(world: World, { claims }: People): string[] {
  if (world.wall.wrongTimes.length > 0 || world.wall.borrowedTimes.length > 0) return [];
  return few(
    claims
      .filter(({ answer }) => !answer.includes('SUCCESS'))
      .map(({ atMs, answer }) => `at ${seconds(atMs)} it was answered ${answer}`),
  );
}
