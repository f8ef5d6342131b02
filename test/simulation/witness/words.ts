/** Words of the agent about itself, as they were looked at in every state of the world. */
import { few, type Sentence } from './sentence.ts';

export const WORDS: readonly Sentence[] = [
  { name: 'status, readiness and alerts say what is so', contradictions: ({ words }) => few(words.lies) },
];
