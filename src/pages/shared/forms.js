/** Parts of which texts are made: plural forms and lists of a language, and marks around what becomes an element of its own. */

const END = '\uE003';
const MARK = /[\uE000-\uE003]/g;
const PARTS = /([\uE000-\uE002])([^\uE000-\uE003]*)\uE003|[^\uE000-\uE003]+/g;

const marked = (mark, text) => `${mark}${String(text).replaceAll(MARK, '')}${END}`;

/** A name that somebody gave: it may run from right to left, whatever is around it. */
export const named = (text) => marked('\uE000', text);
/** A word of the configuration or of the command line. */
export const typed = (text) => marked('\uE001', text);
/** Words of the agent, which speaks English, on a page in another language. */
export const foreign = (text) => marked('\uE002', text);

/** A text without its marks, for a title, an attribute or a picture. */
export function unmarked(text) {
  return String(text).replaceAll(MARK, '');
}

/** Pieces of a text: `{ mark, text }`, the mark being `bdi`, `code`, `en` or undefined. */
export function piecesOf(text) {
  const MARKS = { '\uE000': 'bdi', '\uE001': 'code', '\uE002': 'en' };
  return [...String(text).matchAll(PARTS)].map(([whole, mark, inner]) => ({ mark: MARKS[mark], text: inner ?? whole }));
}

/** `many(2, { one: '# entry', other: '# entries' })`, `list(names)` and `number(2)` of a language. */
export function formsOf(locale) {
  const rules = new Intl.PluralRules(locale);
  const lists = new Intl.ListFormat(locale, { type: 'conjunction' });
  const numbers = new Intl.NumberFormat(locale);
  return {
    many: (count, forms) => (forms[rules.select(count)] ?? forms.other).replace('#', () => numbers.format(count)),
    list: (items) => lists.format(items),
    number: (value) => numbers.format(value),
  };
}
