/** How one line of text becomes keys and values: JSON, CSV columns, a regular expression with named groups, or one number. Shared by serial lines and commands. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { isJsonObject, type JsonValue, parseJson } from '../host/json.ts';
import type { Reading } from './sensor.ts';
import { sensorFault } from './sensor-fault.ts';

export type LineFormat = Pick<SensorConfigOf<'serial-line'>, 'format' | 'columns' | 'separator' | 'pattern' | 'key'>;

/** A sensor's JSON is flat; deeper than this is noise or malice. */
const DEEPEST_JSON = 8;
const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
const WHOLE_NUMBER = /^[-+]?\d+$/;
/** Keys the platform would lose on saving: blank, over 255 characters, with markup or control characters (wire-facts.md, "Values"). */
const GOOD_KEY = /^(?=.*\S)[^<>&"'\p{Cc},]{1,255}$/u;

/** A line's parser, with the pattern compiled once. The returned function throws AgentError `sensors/bad-line` (retry), and nothing else. */
export function lineParser(format: LineFormat): (line: string) => readonly Reading[] {
  const pairs = pairsOf(format);
  return (line) => {
    let found: readonly (readonly [string, JsonValue])[];
    try {
      found = pairs(line.trim());
    } catch (cause) {
      throw sensorFault('bad-line', `a line that is not ${format.format}: ${excerpt(line)}`, cause);
    }
    const readings = found.filter(
      ([key, value]) => GOOD_KEY.test(key) && value !== null && (typeof value !== 'number' || Number.isFinite(value)),
    );
    if (readings.length === 0) throw sensorFault('bad-line', `a line without a value: ${excerpt(line)}`);
    return readings.map(([key, value]) => ({ key, value }));
  };
}

/** Printable, short, in quotes: for messages about lines that may be anything. */
export function excerpt(line: string): string {
  const printable = line.slice(0, 40).replace(/[^\x20-\x7e]/g, '.');
  return `"${printable}${line.length > 40 ? '…' : ''}"`;
}

function pairsOf({ format, columns, separator, pattern, key }: LineFormat): (line: string) => (readonly [string, JsonValue])[] {
  switch (format) {
    case 'json':
      return (line) => {
        const value = parseJson(line, { depth: DEEPEST_JSON });
        return isJsonObject(value) ? Object.entries(value) : [[key, value]];
      };
    case 'csv':
      return (line) => {
        const fields = line.split(separator);
        const names = columns ?? fields.map((_, at) => `column${at + 1}`);
        if (fields.length < names.length) throw new Error(`${fields.length} fields instead of ${names.length}`);
        return names.map((name, at) => [name, scalar(fields[at] ?? '')] as const);
      };
    case 'regex': {
      const compiled = new RegExp(pattern ?? '', 'u');
      return (line) =>
        Object.entries(compiled.exec(line)?.groups ?? {}).map(([name, text]) => [name, text === undefined ? null : scalar(text)] as const);
    }
    case 'number':
      return (line) => {
        const value = scalar(line);
        if (typeof value !== 'number' && typeof value !== 'bigint') throw new Error('no number');
        return [[key, value]];
      };
  }
}

/** A number, true, false, nothing or text; whole numbers past 2^53 keep every digit. */
function scalar(text: string): JsonValue {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  if (!NUMBER.test(trimmed)) return trimmed;
  const value = Number(trimmed);
  return Number.isSafeInteger(value) || !WHOLE_NUMBER.test(trimmed) ? value : BigInt(trimmed);
}
