/** Values in what a program prints: readings of the protocol, or a line of the configured format. */
import { parseJsonPath, valueAt } from '../../config/fields/json-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../values/json.ts';
import { withoutNoNumbers } from '../../values/no-numbers.ts';
import { excerpt, type LineParser, openLineParser } from '../families/lines/line-format.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading } from '../kind/sensor.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { ProcessConfig } from './definition.ts';

/** Returns undefined for a line that is not this sensor's. @throws AgentError `sensors/bad-line` (retry). */
export type LineReader = (line: string) => readonly Outcome[] | undefined;

const MAX_DEPTH = 16;
/** Members of one value; an object with others is a value itself. */
const OF_A_VALUE: ReadonlySet<string> = new Set(['value', 'unit', 'at']);

/** Loads the pattern engine where the format needs it. */
export async function openLineReader(config: ProcessConfig): Promise<LineReader> {
  const { paths, where = {}, format } = config;
  const parse = plainReader(format, await openLineParser(config));
  const conditions = Object.entries(where).map(([path, wanted]) => ({ path: parseJsonPath(path) ?? [], wanted }));
  if (format !== 'json' || (paths === undefined && conditions.length === 0)) return parse;
  const places = Object.entries(paths ?? {}).map(([key, path]) => ({ key, path: parseJsonPath(path) ?? [] }));
  return (line) => {
    const tree = treeOf(line);
    if (!conditions.every(({ path, wanted }) => isSame(valueAt(tree, path), wanted))) return undefined;
    if (paths === undefined) return parse(line);
    // A program prints lines of several shapes: what a line does not have is no fault.
    const outcomes = places.flatMap(({ key, path }): Outcome[] => {
      const value = valueAt(tree, path);
      return value === undefined || value === null ? [] : [outcomeOf(key, () => ({ key, value }))];
    });
    return outcomes.length === 0 ? undefined : outcomes;
  };
}

/** Reader of lines without `paths`: members of a JSON line are those of `readings`. */
function plainReader(format: ProcessConfig['format'], parse: LineParser): LineParser {
  if (format !== 'json') return parse;
  return (line) =>
    parse(line).map((outcome) => {
      if ('fault' in outcome) return outcome;
      const { key, value } = outcome;
      if (key === 'readings' && isJsonObject(value))
        throw sensorFault('bad-line', 'readings that are not alone in their line');
      return outcomeOf(key, () => reading(key, value));
    });
}

/** Readings of `{"readings": …}`. @throws AgentError `sensors/bad-line` (retry) when there is none. */
export function reportedReadings(readings: JsonObject): readonly Outcome[] {
  const outcomes = Object.entries(readings).flatMap(([key, given]): Outcome[] =>
    key === '' || given === undefined || given === null ? [] : [outcomeOf(key, () => reading(key, given))],
  );
  if (outcomes.length === 0) throw sensorFault('bad-line', 'readings without a value');
  return outcomes;
}

function reading(key: string, given: JsonValue): Reading {
  if (!isJsonObject(given) || !Object.hasOwn(given, 'value') || !Object.keys(given).every((one) => OF_A_VALUE.has(one)))
    return { key, value: given };
  const { value, unit, at } = given;
  if (value === undefined || value === null) throw sensorFault('no-value', 'the program says that there is none');
  if (unit !== undefined && typeof unit !== 'string') throw sensorFault('bad-line', `the unit of ${key} is no text`);
  const takenAtMs = at === undefined ? undefined : timeOf(at);
  if (at !== undefined && takenAtMs === undefined)
    throw sensorFault('bad-line', `the time of ${key} is neither ISO 8601 with a zone nor epoch ms`);
  return { key, value, ...(unit !== undefined && { unit }), ...(takenAtMs !== undefined && { takenAtMs }) };
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

function timeOf(at: JsonValue): number | undefined {
  const ms = typeof at === 'number' ? at : typeof at === 'string' && ISO.test(at) ? Date.parse(at) : Number.NaN;
  return Number.isFinite(ms) ? Math.round(ms) : undefined;
}

function treeOf(line: string): JsonValue {
  try {
    return parseJson(withoutNoNumbers(line), { depth: MAX_DEPTH });
  } catch (cause) {
    throw sensorFault('bad-line', `a line that is not json: ${excerpt(line)}`, cause);
  }
}

function isSame(value: JsonValue | undefined, wanted: boolean | number | string): boolean {
  // An id may be a number in one line, and a text in the next.
  return value !== undefined && value !== null && String(value) === String(wanted);
}
