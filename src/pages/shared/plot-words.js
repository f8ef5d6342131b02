/** Sentences beneath a plot: what its lines show, for those who do not see them, and how long a value was beyond its limits. */

import { named } from './forms.js';
import { extremes, periodsBeyond, periodsOfSwitch } from './plot-data.js';
import { say } from './texts.js';
import { duration, instant, limitOf, nameOfAlarm, reading, shown as shownValue } from './words.js';

/** Sentences of all lines; with their names where there are several. */
export function summaryOf(lines) {
  return lines
    .map((line) => (lines.length === 1 ? ofLine(line) : `${named(line.name)}: ${lowered(ofLine(line))}`))
    .join(' ');
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
  if (found === undefined) return say('noneKept');
  const last = valueWords(line, line.columns.times.length - 1);
  if (!line.isSwitch)
    return say('summary', { least: shown(found.least, line), greatest: shown(found.greatest, line), last });
  const periods = periodsOfSwitch(line.columns, line.limitMs);
  const on = periods.filter(({ value }) => value === 1);
  const [surelyMs, perhapsMs] = [on, periods.filter(({ value }) => value > 0 && value < 1)].map(totalMs);
  // A part of an old span in which it was both tells no times.
  if (perhapsMs > 0)
    return say('switchBounds', {
      least: duration(surelyMs / 1000),
      most: duration((surelyMs + perhapsMs) / 1000),
      last,
    });
  return say('switchSummary', { count: on.length, time: duration(surelyMs / 1000), last });
}

/** A sentence for each limit of a line. */
export function limitSentences(line) {
  if (line.columns.times.length === 0) return [];
  return line.thresholds.map((threshold) => {
    const periods = periodsBeyond(line.columns, threshold, line.limitMs);
    const limit = `${named(line.name)} ${limitWords(threshold, line.unit)}`;
    if (periods.length === 0) return say('limitNever', { limit });
    const last = periods.at(-1);
    const when = last.isOpen
      ? say('limitSince', { at: instant(last.fromMs) })
      : say('limitUntil', { at: instant(last.toMs) });
    return say('limitTimes', { limit, count: periods.length, time: duration(totalMs(periods) / 1000), when });
  });
}

function totalMs(periods) {
  return periods.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

/** The value of a line in words: a band has two. */
export function valueWords(line, at) {
  const { least, greatest } = line.columns;
  if (line.isSwitch)
    return least[at] === greatest[at] ? shownValue(least[at] >= 0.5, { class: line.class }) : say('onAndOff');
  return least[at] === greatest[at]
    ? shown(least[at], line)
    : say('spanWords', { from: shown(least[at], line), to: shown(greatest[at], line) });
}

/** `above 5 °C: tooWarm`. */
export function limitWords(threshold, unit) {
  const words = limitOf(threshold, unit);
  const name = threshold.name === undefined ? undefined : nameOfAlarm(threshold);
  return name === undefined ? words : `${words}: ${named(name)}`;
}
