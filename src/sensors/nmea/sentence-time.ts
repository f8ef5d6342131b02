/** Time of a receiver's sentence. Only RMC and ZDA have a date; before its clock is set a receiver may give a time without one. */
import type { SentenceType } from './definition.ts';

/** Earlier receivers' week counters and unset clocks give dates before this. */
const EARLIEST_TIME_MS = Date.UTC(2020, 0, 1);
const TIME = /^(\d\d)(\d\d)(\d\d)(?:\.(\d{1,3})\d*)?$/;

/** Epoch time; undefined when the sentence has none, or one that cannot be. */
export function sentenceTimeMs(type: SentenceType, fields: readonly string[]): number | undefined {
  const [day = '', month = '', year = ''] =
    type === 'RMC'
      ? (/^(\d\d)(\d\d)(\d\d)$/.exec(fields[8] ?? '')?.slice(1) ?? [])
      : type === 'ZDA'
        ? fields.slice(1, 4)
        : [];
  const time = TIME.exec(fields[0] ?? '');
  if (time === null || !/^\d\d?,\d\d?,(?:\d\d|\d{4})$/.test([day, month, year].join())) return undefined;
  const fractionMs = Number((time[4] ?? '').padEnd(3, '0'));
  const date = new Date(
    Date.UTC(
      fullYear(year),
      Number(month) - 1,
      Number(day),
      Number(time[1]),
      Number(time[2]),
      Number(time[3]),
      fractionMs,
    ),
  );
  const isDate = date.getUTCDate() === Number(day) && date.getUTCMonth() === Number(month) - 1;
  return isDate && date.getTime() >= EARLIEST_TIME_MS ? date.getTime() : undefined;
}

/** Two digits of the year; satellite navigation is younger than 1980. */
function fullYear(year: string): number {
  const number = Number(year);
  return year.length === 4 ? number : number < 80 ? 2000 + number : 1900 + number;
}
