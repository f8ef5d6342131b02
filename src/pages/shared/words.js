/** Numbers, times and sizes as people read them, in the language of the page. */
import { partsBeside, partsText } from '../names/shown-value.js';
import { spelled } from '../names/spelled.js';
import { locale, say } from './texts.js';

const STEPS = [
  [86_400, 'days'],
  [3_600, 'hours'],
  [60, 'minutes'],
];
const GROUPED = new Intl.NumberFormat(locale);
/** 12731 kWh has no separator that somebody in another country takes for a decimal point. */
const PLAIN = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6, useGrouping: false });
const WHOLE = new Intl.NumberFormat(locale, { useGrouping: false });
const SHORT = new Intl.NumberFormat(locale, { maximumFractionDigits: 1, useGrouping: false });
const TENTHS = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const TINY = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6, notation: 'scientific' });
const PERCENT = new Intl.NumberFormat(locale, { style: 'unit', unit: 'percent', maximumFractionDigits: 0 });
const TIME = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', hourCycle: 'h23' });
const INSTANT = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
const DAY = new Intl.DateTimeFormat(locale, { dateStyle: 'full' });
const LARGEST_PLAIN = 1e15;
const SMALLEST_PLAIN = 1e-6;

/** `42 s`, `3 min`, `2.5 h`, `12 d`. */
export function duration(seconds) {
  for (const [size, unit] of STEPS) {
    if (seconds >= size * 2) {
      const number = seconds / size;
      return say(unit, { number: number < 10 ? SHORT.format(number) : count(Math.round(number)) });
    }
  }
  return say('seconds', { number: Math.max(0, Math.round(seconds)) });
}

export function ago(seconds) {
  return seconds < 1.5 ? say('justNow') : say('ago', { time: duration(seconds) });
}

export function bytes(number) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = number;
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at === 0 || size >= 100 ? count(Math.round(size)) : TENTHS.format(size)} ${units[at]}`;
}

export function count(number) {
  return GROUPED.format(Number(number));
}

/** A number with one decimal. */
export function tenths(number) {
  return TENTHS.format(number);
}

/** `43 %` with the space that does not break. */
export function percent(number) {
  return PERCENT.format(number).replace(/(\d)%/, '$1 %').replace('\u00a0', ' ');
}

/** A count and its noun in English: `1 entry`, `2 entries`. The status page has plural forms among its texts. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function timeOfDay(ms) {
  return TIME.format(ms);
}

/** A day with its weekday. */
export function dayOf(ms) {
  return DAY.format(ms);
}

/** A local time of day; with its day when that is another one. */
export function instant(ms) {
  return new Date(ms).toDateString() === new Date().toDateString() ? TIME.format(ms) : INSTANT.format(ms);
}

const FIXED = [0, 1, 2, 3, 4, 5, 6].map(
  (places) =>
    new Intl.NumberFormat(locale, {
      minimumFractionDigits: places,
      maximumFractionDigits: places,
      useGrouping: false,
      signDisplay: 'negative',
    }),
);

/** A value as people read it, by its class, unit and key: `21.2 °C`, `1 h 5 min`, `open`. `plain` and `reading` have all its digits. */
export function shown(value, of = {}) {
  // That of an alarm has the digits that tell it from its limit.
  return partsText(partsBeside(value, of.above ?? of.below, of), {
    format: (number, places) => (places === undefined ? plain(number) : FIXED[places].format(number)),
    word: say,
  });
}

/** Pieces of a value as `shown` has them, so that units may be small: `{ text, isUnit }`. */
export function shownPieces(value, of = {}) {
  return partsBeside(value, of.above ?? of.below, of).flatMap((part) => {
    if ('word' in part) return [{ text: say(part.word), isUnit: false }];
    if ('text' in part) return [{ text: part.text, isUnit: false }];
    const number = part.decimals === undefined ? plain(part.number) : FIXED[part.decimals].format(part.number);
    return [{ text: number, isUnit: false }, ...(part.unit === undefined ? [] : [{ text: part.unit, isUnit: true }])];
  });
}

/** The label that somebody gave, else the key in words. */
export function called({ label, key }) {
  return label ?? spelled(key);
}

/** The units of the catalogue that people write otherwise. */
const UNITS = { By: 'B' };

export function reading(value, unit) {
  if (unit === 'By' && typeof value === 'number') return bytes(value);
  return unit === undefined || unit === '' ? plain(value) : `${plain(value)} ${UNITS[unit] ?? unit}`;
}

export function plain(value) {
  if (value === null || value === undefined) return say('unknown');
  if (typeof value === 'boolean') return say(value ? 'on' : 'off');
  if (typeof value === 'bigint') return WHOLE.format(value);
  if (typeof value === 'number') return numeral(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function numeral(value) {
  const size = Math.abs(value);
  if (Number.isSafeInteger(value)) return WHOLE.format(value);
  return size >= LARGEST_PLAIN || size < SMALLEST_PLAIN ? TINY.format(value) : PLAIN.format(value);
}

/** Limit of an alarm: `above 5`, or with its unit; the agent's own words where it is more than one comparison. */
export function limitOf({ above, below, equal, limit }, unit) {
  if (above !== undefined) return say('above', { limit: reading(above, unit) });
  if (below !== undefined) return say('below', { limit: reading(below, unit) });
  return equal === undefined ? limit : say('equal', { limit: reading(equal, unit) });
}

/** The name that somebody gave to an alarm; undefined where the agent has made it of the limit. */
export function nameOfAlarm({ name, label, limit }) {
  return label ?? (name === limit ? undefined : name);
}

/** JSON in which a whole number that a double cannot hold keeps all its digits, where the browser can tell. */
export function parse(text) {
  return JSON.parse(text, (_key, value, context) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value;
  });
}
