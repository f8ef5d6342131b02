/** Slips of a keyboard: values that mean one thing to a person and nothing to a parser, in the spelling that was meant. */

/** Spaces that look like one, and a sign that looks like a minus. */
const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/[\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]/g, ' '],
  [/[\u2010-\u2015\u2212]/g, '-'],
];
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d) *(?:milliseconds?|msecs?)\b/gi, 'ms'],
  [/(?<=\d) *(?:seconds?|secs?)\b/gi, 's'],
  [/(?<=\d) *(?:minutes?|mins?)\b/gi, 'm'],
  [/(?<=\d) *(?:hours?|hrs?)\b/gi, 'h'],
  [/(?<=\d) *days?\b/gi, 'd'],
];
/** No value that is mistyped is longer. */
const MAX_LENGTH = 64;

/** Spellings that may have been meant, the most careful first; whoever asks takes the first that fits. */
export function meantBy(written: string): readonly string[] {
  if (written.length > MAX_LENGTH) return [];
  const replaced = (text: string, by: typeof UNITS): string => by.reduce((now, [slip, meant]) => now.replace(slip, meant), text);
  const seen = replaced(written, LOOK_ALIKES).trim();
  const decimal = seen.replace(/(?<=\d),(?=\d)/g, '.');
  const inUnits = replaced(decimal, UNITS);
  return [seen, decimal, inUnits, inUnits.replaceAll(' ', '')].filter((text, n, all) => text !== written && all.indexOf(text) === n);
}

/** The number that a text was meant to be. */
export function numberMeantBy(written: string): number | undefined {
  const text = [written, ...meantBy(written)]
    .map((one) => one.replace(/^(-?)0X/, '$10x'))
    .find((one) => one.trim() !== '' && Number.isFinite(Number(one)));
  return text === undefined ? undefined : Number(text);
}
