/** Places in a JSON answer: `emeters[0].power`, `$.switch:0.temperature.tC`, `["a.b"].c`. */
import type { JsonValue } from '../../values/json.ts';

export type JsonPath = readonly (string | number)[];

const STEP = /\[(\d{1,6})\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]|\.?([^.[\]'"]+)/y;

/** Undefined for what is no path. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const path: (string | number)[] = [];
  STEP.lastIndex = /^\$(?=[.[]|$)/.test(text) ? 1 : 0;
  while (STEP.lastIndex < text.length) {
    const [, index, double, single, name] = STEP.exec(text) ?? [];
    const key = (double ?? single)?.replace(/\\(.)/g, '$1') ?? name;
    if (index === undefined && key === undefined) return undefined;
    path.push(index === undefined ? (key ?? '') : Number(index));
  }
  return path;
}

/** Value at a path; undefined where there is none. */
export function valueAt(value: JsonValue | undefined, path: JsonPath): JsonValue | undefined {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Readonly<Record<string | number, JsonValue>>)[step];
  }
  return at;
}
