/**
 * How one line of text becomes keys and values: JSON, CSV columns, a regular expression with named groups, or one number. Shared by serial
 * lines and commands. `nan` and `inf`, as programs print them, are the source's own mark of none: such a value is left out alone. Whether a line is
 * a number is judged by what the key's conversion makes of it: 21,5 is one with a decimal comma, and a word of `nulls` or `map` is no fault.
 */
import type { ConversionConfig } from '../../../config/fields/conversion.ts';
import { hasCode } from '../../../errors/agent-error.ts';
import { isJsonObject, type JsonValue, parseJson } from '../../../values/json.ts';
import { type CompilePattern, loadLinearPatterns } from '../../../values/linear-pattern.ts';
import { withoutNoNumbers } from '../../../values/no-numbers.ts';
import { convertReading } from '../../conversion/convert-value.ts';
import type { Conversions } from '../../conversion/sensor-conversion.ts';
import { numberOfText } from '../../conversion/text-number.ts';
import { type Outcome, outcomeOf } from '../../kind/outcome.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import type { LineFormat } from './definition.ts';

/** A sensor's JSON is flat; deeper than this is noise or malice. */
const MAX_JSON_DEPTH = 8;
const LINE_END = /[\r\n]+$/;
const NO_NUMBER = /^[-+]?(?:nan|inf(?:inity)?)$/i;

/** Key and value in a line, or the text that says that there is none; and the text that became a number, true or false. */
type Pair = readonly [key: string, value: JsonValue | NoNumber, text?: string | undefined];

class NoNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A format, and the conversion that follows. */
type ConvertedFormat = LineFormat & { readonly keys?: Conversions };

export type LineParser = (line: string) => readonly Outcome[];

/** Loads the pattern engine where the format needs it. */
export async function openLineParser(format: ConvertedFormat): Promise<LineParser> {
  return lineParser(format, format.format === 'regex' ? await loadLinearPatterns() : undefined);
}

/** A line's parser, with the pattern compiled once. The returned function throws AgentError `sensors/bad-line` (retry), and nothing else. */
export function lineParser(format: ConvertedFormat, compile?: CompilePattern): LineParser {
  const pairs = pairsOf(format, compile);
  return (line) => {
    let found: readonly Pair[];
    try {
      found = pairs(line);
    } catch (cause) {
      throw sensorFault('bad-line', `a line that is not ${format.format}: ${excerpt(line)}`, cause);
    }
    const outcomes = found.flatMap(([key, value, text]): Outcome[] => {
      if (key === '' || value === null) return [];
      return [
        outcomeOf(key, () => {
          if (value instanceof NoNumber) throw sensorFault('no-value', `the line says ${value.text}`);
          return text === undefined || typeof value === 'string' ? { key, value } : { key, value, text };
        }),
      ];
    });
    if (outcomes.length === 0) throw sensorFault('bad-line', `a line without a value: ${excerpt(line)}`);
    return outcomes;
  };
}

/** Printable, short, in quotes: for messages about lines that may be anything. */
export function excerpt(line: string): string {
  const printable = line.slice(0, 40).replace(/[^\x20-\x7e]/g, '.');
  return `"${printable}${line.length > 40 ? '…' : ''}"`;
}

function pairsOf(
  { format, columns, separator, pattern = '', key, keys = {} }: ConvertedFormat,
  compile?: CompilePattern,
): (line: string) => readonly Pair[] {
  switch (format) {
    case 'json':
      return (line) => {
        const value = parseJson(withoutNoNumbers(line.trim()), { depth: MAX_JSON_DEPTH });
        return isJsonObject(value) ? Object.entries(value).map(([name, one]) => [name, one ?? null]) : [[key, value]];
      };
    case 'csv':
      return (line) => {
        // Blanks may be separators, and empty columns stand at the ends too: only the line's end is taken off.
        const fields = csvFields(line.replace(LINE_END, ''), separator);
        const names = columns ?? fields.map((_, at) => `column${at + 1}`);
        if (fields.length < names.length) throw new Error(`${fields.length} fields instead of ${names.length}`);
        return names.map((name, at) => [name, fieldValue(fields[at]), fields[at]?.text.trim()] as const);
      };
    case 'regex': {
      const compiled = compile?.(pattern);
      return (line) =>
        Object.entries(compiled?.groups(line.trim()) ?? {}).map(
          ([name, text]) => [name, text === undefined ? null : scalar(text), text?.trim()] as const,
        );
    }
    case 'number': {
      const rules = Object.hasOwn(keys, key) ? keys[key] : keys['*'];
      return (line) => {
        const text = line.trim();
        const value = scalar(text);
        if (typeof value === 'number' || typeof value === 'bigint' || value instanceof NoNumber)
          return [[key, value, text]];
        if (rules === undefined || !isMeant(text, rules)) throw new Error('no number');
        return [[key, text, text]];
      };
    }
  }
}

/** True of a text that a conversion makes something else of, or takes for the mark of none. */
function isMeant(text: string, rules: ConversionConfig): boolean {
  try {
    return rules.type === 'text' || convertReading({ key: '', value: text, text }, rules) !== text;
  } catch (error) {
    return hasCode(error, 'sensors/no-value');
  }
}

/** Numbers and words in quotes mean what they mean without; of other text every blank is meant. */
function fieldValue(field: CsvField | undefined): Pair[1] {
  const { text, isQuoted } = field ?? { text: '', isQuoted: false };
  const value = scalar(text);
  return isQuoted && typeof value === 'string' ? text : value;
}

/** A number, true, false, nothing or text; whole numbers past 2^53 keep every digit. */
function scalar(text: string): Pair[1] {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  if (NO_NUMBER.test(trimmed)) return new NoNumber(trimmed);
  return numberOfText(trimmed) ?? trimmed;
}

export interface CsvField {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** @throws Error for a quote that does not end, and for text behind one that has. */
export function csvFields(line: string, separator: string): readonly CsvField[] {
  const fields: CsvField[] = [];
  let at = 0;
  for (;;) {
    const start = quoteAt(line, at, separator);
    if (start === undefined) {
      const end = line.indexOf(separator, at);
      fields.push({ text: line.slice(at, end < 0 ? line.length : end), isQuoted: false });
      if (end < 0) return fields;
      at = end + separator.length;
    } else {
      const { text, end } = quoted(line, start + 1);
      fields.push({ text, isQuoted: true });
      const next = line.indexOf(separator, end);
      if (line.slice(end, next < 0 ? line.length : next).trim() !== '')
        throw new Error('text behind a field in quotes');
      if (next < 0) return fields;
      at = next + separator.length;
    }
  }
}

/** Where the field's quote is, when it begins with one; blanks may stand before it, where they are no separator. */
function quoteAt(line: string, from: number, separator: string): number | undefined {
  let at = from;
  while (at < line.length && /\s/.test(line.charAt(at)) && line.charAt(at) !== separator) at += 1;
  return line.charAt(at) === '"' ? at : undefined;
}

/** From behind the opening quote to behind the closing one. */
function quoted(line: string, from: number): { readonly text: string; readonly end: number } {
  let text = '';
  let at = from;
  for (;;) {
    const end = line.indexOf('"', at);
    if (end < 0) throw new Error('a quote that does not end');
    text += line.slice(at, end);
    if (line.charAt(end + 1) !== '"') return { text, end: end + 1 };
    text += '"';
    at = end + 2;
  }
}
