/** Numbers, times and sizes as people read them. */

const STEPS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];

/** `42 s`, `3 min`, `2.5 h`, `12 d`. */
export function duration(seconds) {
  for (const [size, unit] of STEPS) {
    if (seconds >= size * 2) {
      const count = seconds / size;
      return `${count < 10 ? count.toFixed(1).replace('.0', '') : Math.round(count)} ${unit}`;
    }
  }
  return `${Math.max(0, Math.round(seconds))} s`;
}

export function ago(seconds) {
  return seconds < 1.5 ? 'just now' : `${duration(seconds)} ago`;
}

export function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = count;
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[at]}`;
}

export function count(number) {
  return Number(number).toLocaleString('en-GB');
}

/** A count and its noun: `1 entry`, `2 entries`. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A local time of day; with its day when that is another one. */
export function instant(ms) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString('en-GB');
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString('en-CA')} ${time}`;
}

/** The units of the catalogue that people write otherwise. */
const UNITS = { By: 'B' };

export function reading(value, unit) {
  if (unit === 'By' && typeof value === 'number') return bytes(value);
  return unit === undefined || unit === '' ? plain(value) : `${plain(value)} ${UNITS[unit] ?? unit}`;
}

export function plain(value) {
  if (value === null || value === undefined) return 'unknown';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
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
