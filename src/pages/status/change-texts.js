/** Texts of the parts that change the configuration, in the page's language. */
import { language, learnTexts } from '../shared/texts.js';

const { texts } = language === 'de' ? await import('./change-texts-de.js') : await import('./change-texts-en.js');
learnTexts(texts);
