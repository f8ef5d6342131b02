/**
 * Shapes of values that come from outside, as a small part of JSON Schema: what `listMethods` shows is exactly what is checked.
 * Numbers may be bigint (longs). Objects are checked by their own keys only, so `__proto__` and its kin are plain unknown keys.
 */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, stringifyJson } from './json.ts';

export type ShapeType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

/** JSON Schema keywords with their usual meaning; anything not listed here is not understood and not accepted. */
export interface ValueShape {
  readonly description?: string;
  readonly type?: ShapeType | readonly ShapeType[];
  readonly enum?: readonly JsonValue[];
  readonly properties?: Readonly<Record<string, ValueShape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: ValueShape;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression, matched anywhere unless anchored. */
  readonly pattern?: string;
}

/** How much of a value a message shows. */
const SHOWN_LENGTH = 60;

/** Tells whether a text matches a pattern. A shape of our own is matched by JavaScript; one of the configuration by linear patterns. */
export type MatchesPattern = (pattern: string, text: string) => boolean;

const matchesOwn: MatchesPattern = (pattern, text) => new RegExp(pattern, 'u').test(text);

/** Returns the mismatch of `value` in words for people, or undefined when it fits. `path` names the value. */
export function mismatchOf(
  shape: ValueShape,
  value: JsonValue | undefined,
  path = 'value',
  matches: MatchesPattern = matchesOwn,
): string | undefined {
  if (value === undefined) return `${path} is missing`;
  const types = typeof shape.type === 'string' ? [shape.type] : shape.type;
  if (types !== undefined && !types.some((type) => isOfType(type, value)))
    return `${path} is ${shown(value)}, expected ${types.join(' or ')}`;
  if (shape.enum !== undefined && !shape.enum.some((item) => jsonEqual(item, value)))
    return `${path} is ${shown(value)}, expected one of ${shown(shape.enum)}`;
  if (typeof value === 'number' || typeof value === 'bigint') return mismatchOfNumber(shape, value, path);
  if (typeof value === 'string') return mismatchOfString(shape, value, { path, matches });
  if (Array.isArray(value)) return mismatchOfArray(shape, value, { path, matches });
  return isJsonObject(value) ? mismatchOfObject(shape, value, { path, matches }) : undefined;
}

/** The shape as plain JSON, for `listMethods`. */
export function shapeAsJson(shape: ValueShape): JsonObject {
  return JSON.parse(stringifyJson(shape as JsonObject)) as JsonObject;
}

function mismatchOfNumber(shape: ValueShape, value: number | bigint, path: string): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return `${path} is not a finite number`;
  if (shape.minimum !== undefined && value < shape.minimum)
    return `${path} is ${value}, at least ${shape.minimum} is allowed`;
  if (shape.maximum !== undefined && value > shape.maximum)
    return `${path} is ${value}, at most ${shape.maximum} is allowed`;
  return undefined;
}

interface At {
  readonly path: string;
  readonly matches: MatchesPattern;
}

function mismatchOfString(shape: ValueShape, value: string, { path, matches }: At): string | undefined {
  if (shape.minLength !== undefined && value.length < shape.minLength)
    return `${path} is shorter than ${shape.minLength} characters`;
  if (shape.maxLength !== undefined && value.length > shape.maxLength)
    return `${path} is longer than ${shape.maxLength} characters`;
  if (shape.pattern !== undefined && !matches(shape.pattern, value))
    return `${path} is ${shown(value)}, expected to match ${shape.pattern}`;
  return undefined;
}

function mismatchOfArray(shape: ValueShape, value: readonly JsonValue[], { path, matches }: At): string | undefined {
  if (shape.maxItems !== undefined && value.length > shape.maxItems)
    return `${path} has more than ${shape.maxItems} items`;
  const { items } = shape;
  if (items === undefined) return undefined;
  return firstOf(value.entries(), ([index, item]) => mismatchOf(items, item, `${path}[${index}]`, matches));
}

function mismatchOfObject(shape: ValueShape, value: JsonObject, { path, matches }: At): string | undefined {
  const missing = (shape.required ?? []).find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  const properties = shape.properties ?? {};
  return firstOf(Object.keys(value), (key) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property !== undefined) return mismatchOf(property, value[key], `${path}.${key}`, matches);
    return shape.additionalProperties === false ? `${path}.${key.slice(0, SHOWN_LENGTH)} is not known` : undefined;
  });
}

function isOfType(type: ShapeType, value: JsonValue): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  if (type === 'number') return typeof value === 'number' || typeof value === 'bigint';
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value);
  return typeof value === type;
}

function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

function firstOf<Item>(items: Iterable<Item>, look: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
