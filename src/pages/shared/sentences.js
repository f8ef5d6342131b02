/** Sentences of the agent in the language of the page. The agent sends them beside its English words; a page in English shows those. */
import { language, tellBy } from './texts.js';

const inLanguage = language === 'de' ? (await import('./sentences-de.js')).inGerman : undefined;
/** By their English words. */
let known = {};

tellBy((text, sentence = known[text]) => {
  if (inLanguage === undefined || sentence === undefined) return undefined;
  try {
    return inLanguage(sentence);
  } catch {
    // An agent of another release: its words are shown.
    return undefined;
  }
});

/** Takes the sentences of a status, for all that is told from now on. */
export function learnSentences({ sentences = {} }) {
  known = sentences;
}
