/** Texts of the page in the reader's language. A page offers languages by `data-languages` of its root; one that offers none is English. */
import { foreign, piecesOf, unmarked } from './forms.js';

const KEY = 'turnstone-language';
const LOCALES = { en: 'en-GB', de: 'de-DE' };
const root = globalThis.document?.documentElement;
const offered = (root?.dataset.languages ?? 'en').split(' ');

export const language = chosenLanguage() ?? preferredLanguage() ?? 'en';
/** For `Intl`. */
export const locale = LOCALES[language];
/** Value of `lang` on what the agent says; undefined where the page has the same language. */
export const agentLanguage = language === 'en' ? undefined : 'en';

const { texts } = language === 'de' ? await import('./texts-de.js') : await import('./texts-en.js');

/** Texts of parts that are loaded on first use. */
const others = {};

export function learnTexts(more) {
  Object.assign(others, more);
}

/** A text by its id, with the values that it is made of. */
export function say(id, values) {
  const text = texts[id] ?? others[id];
  if (text === undefined) throw new Error(`there is no text ${id}`);
  return typeof text === 'function' ? text(values) : text;
}

/** Looks for words of the agent in the page's language. */
let inLanguage = () => undefined;

export function tellBy(look) {
  inLanguage = look;
}

/** Words of the agent in the page's language, else marked as English. @param sentence of which they are made; default: that of the status. */
export function told(text, sentence) {
  if (agentLanguage === undefined || text === undefined || text === '') return text;
  return inLanguage(text, sentence) ?? foreign(text);
}

/** Nodes of a text: what is marked becomes an element. */
export function nodesOf(text) {
  return piecesOf(text).map((piece) => {
    if (piece.mark === undefined) return document.createTextNode(piece.text);
    const element = document.createElement(piece.mark === 'en' ? 'span' : piece.mark);
    if (piece.mark === 'en') element.lang = 'en';
    element.textContent = piece.text;
    return element;
  });
}

/** Puts the page's own texts into its language, and joins the select `#language`. */
export function prepareTexts() {
  root.lang = language;
  if (language !== 'en') {
    for (const element of document.querySelectorAll('[data-text]'))
      element.replaceChildren(...nodesOf(say(element.dataset.text)));
    for (const element of document.querySelectorAll('[data-label]'))
      element.setAttribute('aria-label', unmarked(say(element.dataset.label)));
    for (const element of document.querySelectorAll('[data-hint]'))
      element.placeholder = unmarked(say(element.dataset.hint));
  }
  const select = document.getElementById('language');
  select.value = chosenLanguage() ?? '';
  select.addEventListener('change', () => {
    keepChoice(select.value);
    location.reload();
  });
}

function preferredLanguage() {
  return (globalThis.navigator?.languages ?? [])
    .map((tag) => tag.split('-')[0].toLowerCase())
    .find((one) => offered.includes(one));
}

/** A browser may keep nothing for anybody. */
function chosenLanguage() {
  try {
    const kept = root === undefined ? null : localStorage.getItem(KEY);
    return offered.includes(kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

function keepChoice(choice) {
  try {
    if (choice === '') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // As above.
  }
}
