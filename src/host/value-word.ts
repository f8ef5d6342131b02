/** A value as one word of a sentence. */
import { type JsonValue, stringifyJson } from '../values/json.ts';

/** `on`, `off`, or the value as it is. */
export function valueWord(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'unknown';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'string' ? value : stringifyJson(value);
}
