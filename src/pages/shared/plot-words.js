/** Sentences beneath a plot: what its lines show, for those who do not see them, and how long a value was beyond its limits. */
import { extremes, periodsBeyond, periodsOfSwitch } from './plot-data.js';
import { counted, duration, instant, reading } from './words.js';

/** Sentences of all lines; with their names where there are several. */
export function summaryOf(lines) {
  return lines.map((line) => (lines.length === 1 ? ofLine(line) : `${line.key}: ${lowered(ofLine(line))}`)).join(' ');
}

/** A value without the digits beyond a thousandth of what its line spans. */
function shown(value, { columns, unit }) {
  const { least, greatest } = extremes(columns);
  if (!(greatest > least)) return reading(value, unit);
  const decimals = Math.min(9, Math.max(0, Math.ceil(3 - Math.log10(greatest - least))));
  return reading(Number(value.toFixed(decimals)), unit);
}

const lowered = (text) => text.charAt(0).toLowerCase() + text.slice(1);

function ofLine(line) {
  const found = extremes(line.columns);
  if (found === undefined) return 'No readings are kept for this span.';
  const last = valueWords(line, line.columns.times.length - 1);
  if (!line.isSwitch) return `Least ${shown(found.least, line)}, greatest ${shown(found.greatest, line)}, last ${last}.`;
  const periods = periodsOfSwitch(line.columns, line.limitMs);
  const on = periods.filter(({ value }) => value === 1);
  const [surelyS, perhapsS] = [on, periods.filter(({ value }) => value > 0 && value < 1)].map((some) => totalMs(some) / 1000);
  // A part of an old span in which it was both tells no times.
  if (perhapsS > 0) return `On for ${duration(surelyS)} at least and ${duration(surelyS + perhapsS)} at most, last ${last}.`;
  return `On ${counted(on.length, 'time')}, for ${duration(surelyS)} together, last ${last}.`;
}

/** A sentence for each limit of a line. */
export function limitSentences(line) {
  if (line.columns.times.length === 0) return [];
  return line.thresholds.map((threshold) => {
    const periods = periodsBeyond(line.columns, threshold, line.limitMs);
    const words = `${line.key} ${limitWords(threshold, line.unit)}`;
    if (periods.length === 0) return `${words}: never in this span.`;
    const last = periods.at(-1);
    const when = last.isOpen ? `since ${instant(last.fromMs)}` : `last until ${instant(last.toMs)}`;
    return `${words}: ${counted(periods.length, 'time')}, for ${duration(totalMs(periods) / 1000)} together, ${when}.`;
  });
}

function totalMs(periods) {
  return periods.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

/** The value of a line in words: a band has two. */
export function valueWords(line, at) {
  const { least, greatest } = line.columns;
  if (line.isSwitch) return least[at] === greatest[at] ? (least[at] >= 0.5 ? 'on' : 'off') : 'on and off';
  return least[at] === greatest[at] ? shown(least[at], line) : `${shown(least[at], line)} to ${shown(greatest[at], line)}`;
}

/** `above 5 °C: tooWarm`. */
export function limitWords({ name, above, below }, unit) {
  const plainWords = above === undefined ? `below ${below}` : `above ${above}`;
  const words = above === undefined ? `below ${reading(below, unit)}` : `above ${reading(above, unit)}`;
  return name === undefined || name === plainWords ? words : `${words}: ${name}`;
}
