/** Names and values in English, for the terminal and for the sentences of the agent; a page makes its own of the same parts. */
import type { StateWord } from '../pages/names/classes.js';
import { partsBeside, partsText, SIGNIFICANT } from '../pages/names/shown-value.js';
import { spelled } from '../pages/names/spelled.js';
import type { JsonValue } from '../values/json.ts';

/** Label and class of a value, as a status or a configuration has them. */
export interface Named {
  readonly label?: string | undefined;
  /** A class of `src/pages/names/classes.js`, or a word of a user's own. */
  readonly class?: string | undefined;
}

/** A reading, or an output without key and unit. */
export interface NamedValue extends Named {
  readonly key?: string | undefined;
  readonly unit?: string | undefined;
  /** Limit of an alarm, which the value is to be told from. */
  readonly above?: number | undefined;
  readonly below?: number | undefined;
}

/** Returns a value with its unit: `21.2 °C`, `1.23 kW`, `1 h 5 min`, `open`, `unknown`. */
export function shownText(value: JsonValue, of: NamedValue = {}): string {
  const parts = partsBeside(value, of.above ?? of.below, of);
  return partsText(parts, { format, word: (word: StateWord | 'unknown') => word });
}

/** Returns the label, else the key in words. */
export function nameText({ label, key }: { readonly label?: string | undefined; readonly key: string }): string {
  return label ?? spelled(key);
}

function format(number: number | bigint, decimals: number | undefined): string {
  if (typeof number === 'bigint' || Number.isSafeInteger(number))
    return decimals ? `${number}.${'0'.repeat(decimals)}` : `${number}`;
  if (decimals === undefined)
    return String(Math.abs(number) < 10 ** SIGNIFICANT ? Number(number.toPrecision(SIGNIFICANT)) : Math.round(number));
  const text = number.toFixed(decimals);
  return Number(text) === 0 ? text.replace('-', '') : text;
}
