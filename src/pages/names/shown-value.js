// @ts-check
/**
 * Values as people read them: a value with its class and unit becomes parts, which a door makes into text in its own language and number format.
 * CSV, JSON and the platform get the value itself.
 */
import { classOf, measuredClass } from './classes.js';

/** @typedef {import('./classes.js').Class} Class */
/** @typedef {import('./classes.js').StateWord} StateWord */

/**
 * A number with its unit, a word, or text as it came. `decimals` are the places to show; undefined shows up to six significant digits.
 * @typedef {{ readonly number: number | bigint, readonly decimals?: number, readonly unit?: string } |
 *   { readonly word: StateWord | 'unknown' } | { readonly text: string }} ShownPart
 */

/** Symbols that people read, of units that the platform is told in the letters of UCUM. @type {Readonly<Record<string, string>>} */
const SYMBOLS = { By: 'B' };
/** Steps of a thousand; a prefix above the last one is not read by people. */
const PREFIXES = ['', 'k', 'M', 'G', 'T'];
/** Units that take a prefix. */
const PREFIXED = /^([kMGT]?)(W|VA|var|Wh|varh|VAh|V|A|Hz|B|B\/s|bit\/s)$/;
/** A larger number is shown in powers of ten, or whole. */
const LARGEST = 1e15;
/** Places that a tiny number is shown with at most. */
const MAX_DECIMALS = 6;
/** Share of a number below which a difference is none. */
const FLOAT_TOLERANCE = 1e-12;
/** Significant digits that a door shows of a number without `decimals`. */
export const SIGNIFICANT = 6;
/** Seconds of the units of a time, the largest first. @type {readonly (readonly [number, string])[]} */
const TIMES = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];
/** Seconds of a unit that may be shown in larger ones. @type {Readonly<Record<string, number>>} */
const SECONDS = { ms: 0.001, s: 1, min: 60 };

/**
 * Returns the parts of a value, of which there are two for a time such as `1 h 5 min`. Without a class the unit and the key tell it.
 * @param {unknown} value null is a value that nobody knows.
 * @param {{ readonly class?: string | undefined, readonly unit?: string | undefined, readonly key?: string | undefined }} of
 * @returns {readonly ShownPart[]}
 */
export function shownParts(value, { class: name, unit, key = '' }) {
  const kind = classOf(name ?? measuredClass(key, unit));
  if (value === null || value === undefined) return [{ word: 'unknown' }];
  if (typeof value === 'boolean') return [{ word: stateWord(value, kind) }];
  if (typeof value === 'number' || typeof value === 'bigint') {
    const isOutput = kind?.moves === true && key === '';
    const hasStates = kind?.states !== undefined && !isOutput && unit === undefined && (value === 0 || value === 1);
    return hasStates ? [{ word: stateWord(value === 1, kind) }] : numberParts(value, SYMBOLS[unit ?? ''] ?? unit, kind);
  }
  return [{ text: typeof value === 'string' ? value : jsonText(value) }, ...unitPart(unit)];
}

/**
 * Returns the parts of a value of an alarm, with as many more places as it takes to be on its own side of the limit that it stands beside: 5.04
 * is 5.0 by its class, and 5.04 beside a limit of 5. A limit that is no number changes nothing.
 * @param {unknown} value
 * @param {unknown} limit in the unit of the value
 * @param {Parameters<typeof shownParts>[1]} of
 * @returns {readonly ShownPart[]}
 */
export function partsBeside(value, limit, of) {
  const parts = shownParts(value, of);
  const [part] = parts;
  if (typeof value !== 'number' || typeof limit !== 'number' || !Number.isFinite(value) || value === limit)
    return parts;
  if (part === undefined || !('number' in part) || typeof part.number !== 'number') return parts;
  if (isTime(part, of.unit)) return isAlike(parts, shownParts(limit, of)) ? [{ number: value, unit: of.unit }] : parts;
  // A prefix of the unit scales the limit, too.
  const scaled = value === 0 ? limit : limit * (part.number / value);
  const side = sideOf(part.number, scaled);
  let { decimals } = part;
  while (sideOf(rounded(part.number, decimals), scaled) !== side && (decimals ?? 0) < MAX_DECIMALS)
    decimals = decimals === undefined ? 1 : decimals + 1;
  return decimals === part.decimals ? parts : [{ number: part.number, decimals, unit: part.unit }];
}

/** Returns 1 above a limit, -1 below it, and 0 for the limit itself and rounding of binary fractions. @type {(number: number, limit: number) => number} */
function sideOf(number, limit) {
  const difference = number - limit;
  return Math.abs(difference) <= Math.abs(limit) * FLOAT_TOLERANCE ? 0 : Math.sign(difference);
}

/** True for a part in another unit of time than the value's own. @type {(part: ShownPart, unit: string | undefined) => boolean} */
function isTime(part, unit) {
  return 'unit' in part && part.unit !== unit && TIMES.some(([, name]) => name === part.unit);
}

/** @type {(some: readonly ShownPart[], others: readonly ShownPart[]) => boolean} */
function isAlike(some, others) {
  return JSON.stringify(some) === JSON.stringify(others);
}

/** Returns a number as it is shown with these places. @type {(number: number, decimals: number | undefined) => number} */
function rounded(number, decimals) {
  if (decimals !== undefined) return Number(number.toFixed(decimals));
  return Math.abs(number) < 10 ** SIGNIFICANT ? Number(number.toPrecision(SIGNIFICANT)) : Math.round(number);
}

/** @type {(value: boolean, kind: Class | undefined) => StateWord} */
function stateWord(value, kind) {
  const [yes, no] = kind?.states ?? ['on', 'off'];
  return value ? yes : no;
}

/** @type {(unit: string | undefined) => readonly ShownPart[]} */
function unitPart(unit) {
  return unit === undefined || unit === '' ? [] : [{ text: SYMBOLS[unit] ?? unit }];
}

/** @type {(value: number | bigint, unit: string | undefined, kind: Class | undefined) => readonly ShownPart[]} */
function numberParts(value, unit, kind) {
  const isExact = typeof value === 'number' && Math.abs(value) < LARGEST;
  const isPlain = kind === undefined || (kind.decimals === undefined && kind.significant === undefined);
  // A whole number that a double cannot hold keeps all its digits.
  if (!isExact || isPlain) return [{ number: value, unit: unit || undefined }];
  const seconds = kind.scaling === 'time' ? SECONDS[unit ?? ''] : undefined;
  if (seconds !== undefined && Math.abs(value * seconds) >= 60) return timeParts(value * seconds);
  const { number, unit: shown } = inPrefix(value, unit, kind);
  const decimals = Object.is(number, value) ? kind.decimals : undefined;
  return [{ number, decimals: decimals ?? decimalsOf(number, kind.significant ?? 3), unit: shown || undefined }];
}

/**
 * Returns a number in the largest prefix in which it is one or more; one that has a prefix never loses it.
 * @type {(value: number, unit: string | undefined, kind: Class) => { readonly number: number, readonly unit: string | undefined }}
 */
function inPrefix(value, unit, { scaling }) {
  const [, prefix = '', base = ''] =
    (scaling === 'thousands' || scaling === 'energy' ? PREFIXED.exec(unit ?? '') : null) ?? [];
  if (base === '') return { number: value, unit };
  const last = scaling === 'energy' ? Math.max(1, PREFIXES.indexOf(prefix)) : PREFIXES.length - 1;
  let [number, at] = [value, PREFIXES.indexOf(prefix)];
  // 999.7 W would be shown as 1000 W.
  while (at < last && Math.abs(Number(number.toPrecision(3))) >= 1_000) {
    number /= 1_000;
    at += 1;
  }
  return { number, unit: `${PREFIXES[at]}${base}` };
}

/** Returns the places of so many significant digits. @type {(value: number, significant: number) => number} */
function decimalsOf(value, significant) {
  if (value === 0) return 0;
  const digits = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(significant))))) + 1;
  const places = Math.min(Math.max(0, significant - digits), MAX_DECIMALS);
  return Math.min(places, placesOf(value, places));
}

/** Returns the places that a number has, at most so many: 5 W is not 5.00 W. @type {(value: number, most: number) => number} */
function placesOf(value, most) {
  return /\.(\d*?)0*$/.exec(value.toFixed(most))?.[1]?.length ?? 0;
}

/** Returns the two largest units of a time, the second one only where it is not 0. @type {(seconds: number) => readonly ShownPart[]} */
function timeParts(seconds) {
  const at = TIMES.findIndex(([size]) => Math.abs(seconds) >= size);
  const [size, unit] = TIMES[at] ?? [1, 's'];
  const [small, smallUnit] = TIMES[at + 1] ?? [1, 's'];
  const steps = Math.round(Math.abs(seconds) / small);
  const perUnit = size / small;
  // 23 h 59.9 min is a day.
  const above = TIMES[at - 1];
  if (above !== undefined && steps * small >= above[0]) return timeParts(Math.sign(seconds) * steps * small);
  const rest = steps % perUnit;
  const first = { number: Math.sign(seconds) * Math.floor(steps / perUnit), decimals: 0, unit };
  return rest === 0 ? [first] : [first, { number: rest, decimals: 0, unit: smallUnit }];
}

/** @type {(value: unknown) => string} */
function jsonText(value) {
  return JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one)) ?? '';
}

/**
 * Joins parts: each number by `format`, each word by `word`, with a space before a unit.
 * @param {readonly ShownPart[]} parts
 * @param {{ readonly format: (number: number | bigint, decimals: number | undefined) => string, readonly word: (word: StateWord | 'unknown') => string }} door
 * @returns {string}
 */
export function partsText(parts, { format, word }) {
  return parts
    .map((part) => {
      if ('word' in part) return word(part.word);
      if ('text' in part) return part.text;
      const number = format(part.number, part.decimals);
      return part.unit === undefined ? number : `${number} ${part.unit}`;
    })
    .join(' ');
}
