/** One value through the chain of conversion, whose words and order are in config/fields/conversion.ts: of text, or of a number from a register. */
import {
  type BitWords,
  type CameWords,
  type ConversionConfig,
  meansBits,
  meansNumber,
} from '../../config/fields/conversion.ts';
import { shortest } from '../../hardware/modbus-values.ts';
import { isNumeric, type JsonValue, parseJson, stringifyJson } from '../../values/json.ts';
import type { Reading } from '../kind/sensor.ts';
import { sensorFault, withinRange } from '../kind/sensor-fault.ts';
import { bitField } from './bit-field.ts';
import { type Scaling, scaled } from './decimal.ts';
import { numberOfText } from './text-number.ts';

/** A sensor's text is flat; deeper than this is noise or malice. */
const MAX_JSON_DEPTH = 8;
const CERTAIN_DIGITS = 15;
const ON_OFF: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
};

type Plain = boolean | number | bigint | string;

/** Words for a number, of whatever source. */
export interface NumberRules extends BitWords, CameWords, Scaling, Pick<ConversionConfig, 'table' | 'min' | 'max'> {}

/**
 * The value of a reading. @throws AgentError `sensors/no-value` for a mark of none, `sensors/bad-reading` for what the words cannot read,
 * `sensors/out-of-range` outside min and max (all retry).
 */
export function convertReading(
  { key, value, text = typeof value === 'string' ? value : undefined }: Reading,
  rules: ConversionConfig,
): JsonValue {
  const came = text?.trim() ?? (typeof value === 'boolean' ? String(value) : undefined);
  const mapped = came === undefined ? undefined : lookUp(key, came, rules);
  const typed = mapped === undefined ? typedValue(key, value, text, rules) : typedValue(key, mapped, undefined, rules);
  if (!isNumeric(typed)) return typed;
  const isWhole = meansBits(rules) && mapped === undefined;
  const width = { bits: rules.bits, isSigned: rules.signed === true };
  return convertNumber(
    key,
    isWhole ? bitField(key, typed, rules, width) : typed,
    mapped === undefined ? rules : { ...rules, ...UNMAPPED },
  );
}

/** Words that are over once something was looked up by them. */
const UNMAPPED = { nulls: [], map: {} };

/** The value of what is no number: another where the map has one. @throws AgentError `sensors/no-value` (retry). */
export function convertWord(key: string, word: boolean | string, rules: CameWords): Plain {
  return lookUp(key, String(word), rules) ?? word;
}

/** The value of a number whose bits are taken. @throws AgentError `sensors/no-value`, `sensors/out-of-range` (both retry). */
export function convertNumber(key: string, number: number | bigint, rules: NumberRules): Plain {
  const { table, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = rules;
  const meant = lookUp(key, String(number), rules, number) ?? number;
  if (!isNumeric(meant)) return meant;
  const value = table === undefined ? scaled(meant, rules) : interpolated(table, Number(meant));
  // A factor can make an infinity of a number, which is no value.
  if (typeof value === 'number' && !Number.isFinite(value))
    throw sensorFault('out-of-range', `${key} is too great to be told`);
  withinRange(key, Number(value), [min, max]);
  return value;
}

/** True of the same number, also where it is written with more digits than a float32 has. */
export function isNumber(number: number | bigint, written: number): boolean {
  return (
    Number(number) === written || (!Number.isSafeInteger(written) && Number(number) === shortest(Math.fround(written)))
  );
}

/** Returns the meaning of these letters; undefined without one. @param number the same. */
function lookUp(
  key: string,
  came: string,
  { nulls = [], map = {} }: CameWords,
  number?: number | bigint,
): Exclude<Plain, bigint> | undefined {
  const found = Object.hasOwn(map, came) ? map[came] : undefined;
  const isNull = nulls.some((none) =>
    typeof none === 'number' ? number !== undefined && isNumber(number, none) : none === came,
  );
  if (!isNull && found !== null) return found;
  throw sensorFault('no-value', `${key} is ${JSON.stringify(came)}, which says that there is no value`);
}

function typedValue(key: string, value: JsonValue, text: string | undefined, rules: ConversionConfig): JsonValue {
  const type = rules.type ?? (text !== undefined && meansNumber(rules) ? 'number' : undefined);
  switch (type) {
    case undefined:
      return value;
    case 'text':
      return text ?? (typeof value === 'object' && value !== null ? stringifyJson(value) : String(value));
    case 'boolean':
      return (
        ON_OFF[
          String(text ?? value)
            .trim()
            .toLowerCase()
        ] ?? unreadable(key, text ?? value, 'neither on nor off')
      );
    case 'json':
      try {
        return text === undefined ? value : parseJson(text, { depth: MAX_JSON_DEPTH });
      } catch {
        return unreadable(key, text, 'no JSON');
      }
    default: {
      const number =
        text === undefined ? (typeof value === 'boolean' ? Number(value) : value) : numberOfText(text, rules);
      if (number === undefined || !isNumeric(number)) return unreadable(key, text ?? value, numberWords(rules));
      if (type === 'integer' && typeof number === 'number' && !Number.isInteger(number))
        return unreadable(key, text ?? value, 'no whole number');
      return number;
    }
  }
}

function numberWords({ decimal, radix }: ConversionConfig): string {
  return `no number${radix === undefined ? '' : ` in base ${radix}`}${decimal === ',' ? ' with a decimal comma' : ''}`;
}

function unreadable(key: string, came: JsonValue | undefined, why: string): never {
  const shown = String(came)
    .slice(0, 40)
    .replace(/[^\x20-\x7e]/g, '.');
  throw sensorFault('bad-reading', `${key} is ${JSON.stringify(shown)}, which is ${why}`);
}

/** On straight lines from point to point; the outer ones go on. */
function interpolated(points: NonNullable<ConversionConfig['table']>, x: number): number {
  const above = points.findIndex(([at = 0]) => at >= x);
  const end = above < 0 ? points.length - 1 : Math.max(above, 1);
  const [x1 = 0, y1 = 0] = points[end - 1] ?? [];
  const [x2 = 0, y2 = 0] = points[end] ?? [];
  return Number((x === x2 ? y2 : y1 + ((x - x1) * (y2 - y1)) / (x2 - x1)).toPrecision(CERTAIN_DIGITS));
}
