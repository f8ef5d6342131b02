/**
 * A JSON Schema in which every shape that stands in several places is one definition, named after the option that has it. Zod shares only shapes
 * that are one object in our sources, names them by numbers, and shares each `true` as well.
 */

export type JsonObject = { readonly [key: string]: unknown };

/** Draft 7 words that hold a schema, schemas by name, or a list of schemas. */
const OF_ONE = new Set(['items', 'additionalProperties', 'propertyNames', 'not']);
const BY_NAME = new Set(['properties', 'patternProperties']);
const IN_LIST = new Set(['anyOf', 'oneOf', 'allOf']);

/** A definition and its reference take three lines each: less than this is as well where it stands. */
const MIN_LINES = 8;

interface Place {
  readonly text: string;
  /** The options on the way to it. */
  readonly names: readonly string[];
}

/** Takes out the largest shape first, as what lies within it then counts once. */
export function sharingShapes({ definitions: given = {}, ...schema }: JsonObject): JsonObject {
  const definitions = { ...(given as Record<string, JsonObject>) };
  let root: JsonObject = schema;
  for (;;) {
    const shared = largestShared([root, ...Object.values(definitions)]);
    if (shared === undefined) break;
    const name = freeName(shared.names, definitions);
    const reference = { $ref: `#/definitions/${name}` };
    const replaced = (one: JsonObject) =>
      mapShapes(one, (shape) => (textOf(shape) === shared.text ? reference : undefined));
    root = replaced(root);
    for (const [key, one] of Object.entries(definitions)) definitions[key] = replaced(one);
    definitions[name] = JSON.parse(shared.text) as JsonObject;
  }
  return { ...root, definitions };
}

function largestShared(roots: readonly JsonObject[]): Place | undefined {
  const places = new Map<string, Place>();
  let largest: Place | undefined;
  for (const root of roots) {
    mapShapes(root, (shape, names) => {
      const text = textOf(shape);
      const first = places.get(text);
      if (first === undefined) places.set(text, { text, names });
      else if (text.length > (largest?.text.length ?? 0)) largest = first;
      return undefined;
    });
  }
  return largest;
}

/** Empty for a shape that is too small to be shared. */
function textOf(shape: JsonObject): string {
  const text = JSON.stringify(shape, undefined, 1);
  return text.split('\n').length < MIN_LINES ? '' : text;
}

/** Replaces each shape within one for which there is another, from the outside to the inside. */
function mapShapes(
  shape: JsonObject,
  replace: (inner: JsonObject, names: readonly string[]) => JsonObject | undefined,
  names: readonly string[] = [],
): JsonObject {
  const inner = (value: unknown, more: readonly string[] = []): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const path = [...names, ...more];
    return replace(value as JsonObject, path) ?? mapShapes(value as JsonObject, replace, path);
  };
  const mapped = Object.entries(shape).map(([word, value]): [string, unknown] => {
    if (OF_ONE.has(word)) return [word, inner(value)];
    if (IN_LIST.has(word)) return [word, (value as unknown[]).map((each) => inner(each))];
    if (BY_NAME.has(word))
      return [
        word,
        Object.fromEntries(Object.entries(value as JsonObject).map(([name, each]) => [name, inner(each, [name])])),
      ];
    return [word, value];
  });
  return Object.fromEntries(mapped);
}

/** The option's name, with as many of those around it as make it another than the names before. */
function freeName(names: readonly string[], taken: JsonObject): string {
  for (let from = names.length - 1; from >= 0; from -= 1) {
    const name = names.slice(from).join('.');
    if (!Object.hasOwn(taken, name)) return name;
  }
  for (let number = 2; ; number += 1) {
    const name = `${names.at(-1) ?? 'shape'}${number}`;
    if (!Object.hasOwn(taken, name)) return name;
  }
}
