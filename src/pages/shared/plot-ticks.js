/** Marks of a plot's axes: as many digits as the step between two of them needs. */
import { locale } from './texts.js';

const MAX_DECIMALS = 9;
const PLAIN_BELOW = 1e9;
const DATE = new Intl.DateTimeFormat(locale, { day: '2-digit', month: '2-digit' });
const SECONDS = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', hourCycle: 'h23' });
const MINUTES = new Intl.DateTimeFormat(locale, { timeStyle: 'short', hourCycle: 'h23' });
const SIZES = [
  [1e12, 'TB'],
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
  [1, 'B'],
];

/** Decimals in which two marks of this distance differ. */
export function decimalsOf(step) {
  if (!(step > 0)) return 0;
  const least = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  // 0.25 needs one more than 0.5 does, and 1.25 two more than 1.
  const more =
    [0, 1, 2].find((one) => Math.abs(step * 10 ** (least + one) - Math.round(step * 10 ** (least + one))) < 1e-6) ?? 2;
  return Math.min(MAX_DECIMALS, least + more);
}

export function valueTicks(marks, step, unit) {
  const greatest = Math.max(...marks.map(Math.abs));
  if (unit === 'By') {
    const [size, name] = SIZES.find(([one]) => greatest >= one) ?? [1, 'B'];
    return marks.map((mark) => `${numbered(mark / size, decimalsOf(step / size))} ${name}`);
  }
  if (greatest >= PLAIN_BELOW)
    return marks.map((mark) => scientific(mark, decimalsOf(step / 10 ** Math.floor(Math.log10(greatest)))));
  return marks.map((mark) => numbered(mark, decimalsOf(step)));
}

function numbered(value, decimals) {
  // A step's sum is not quite 0 in binary.
  const rounded = Number(value.toFixed(decimals)) === 0 ? 0 : value;
  return rounded.toLocaleString(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function scientific(value, decimals) {
  return value.toLocaleString(locale, {
    notation: 'scientific',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

/** Times of day, and the date beneath the first mark of each day. */
export function timeTicks(seconds, stepS) {
  let day = '';
  return seconds.map((second) => {
    const at = second * 1000;
    const date = DATE.format(at);
    if (stepS >= 86_400) return date;
    const time = (stepS < 60 ? SECONDS : MINUTES).format(at);
    const isNew = date !== day;
    day = date;
    return isNew ? `${time}\n${date}` : time;
  });
}
