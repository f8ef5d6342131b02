/** Values as people type them: numbers with a decimal comma or point, spans of time with blanks and words. */

const NUMBER = /^([-+−–]?)\s*(\d+(?:[.,]\d*)?|[.,]\d+)(e[-+]?\d+)?$/i;
const SPAN = /^(?:\s*\d+(?:[.,]\d+)?\s*\p{L}+\.?)+\s*$/u;
const SPAN_PART = /(\d+(?:[.,]\d+)?)\s*(\p{L}+)/gu;
const UNITS = {
  ms: 'ms',
  s: 's sec secs second seconds sek sekunde sekunden',
  m: 'm min mins minute minutes minuten',
  h: 'h hr hrs hour hours std stunde stunden',
  d: 'd day days tag tage tagen',
};
const UNIT_OF = new Map(Object.entries(UNITS).flatMap(([unit, words]) => words.split(' ').map((word) => [word, unit])));

/** Returns the number of a text; undefined for what is none. */
export function numberIn(text) {
  const [, sign, digits, power = ''] = NUMBER.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const number = Number(`${digits.replace(',', '.')}${power}`);
  if (!Number.isFinite(number)) return undefined;
  return sign === '' || sign === '+' || number === 0 ? number : -number;
}

/** Returns a span of time as the configuration has it: `5 min` becomes `5m`. What is none stays as it is. */
export function spanIn(text) {
  const parts = [...text.matchAll(SPAN_PART)].map(([, amount, word]) => [amount, UNIT_OF.get(word.toLowerCase())]);
  if (!SPAN.test(text) || parts.some(([, unit]) => unit === undefined)) return text.trim();
  return parts.map(([amount, unit]) => `${amount.replace(',', '.')}${unit}`).join('');
}
