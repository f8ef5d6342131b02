import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { z } from 'zod';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { bare, memberSchema } from '../../../src/config/schema/schema-walk.ts';
import { SENSOR_KINDS } from '../../../src/kinds/sensor-kinds.ts';
import { Chance } from '../../simulation/chance.ts';
import { KINDS_NOT_IN_WORLDS, NOT_IN_WORLDS } from '../../simulation/options.ts';
import { configFrom, drawnApart, drawSite, siteYaml } from '../../simulation/site.ts';

type Schema = z.core.$ZodType;
const WORLDS = 300;
const EVERY = Symbol('every member');
/** Schemas of somebody else's values lie below these. */
const OPAQUE = /\.(params|allowed)$/;

describe('the worlds of the simulator', () => {
  const yamls = Array.from({ length: WORLDS }, (_, at) => yamlOf(at + 1));
  const occurring = new Set(yamls.flatMap((yaml) => [...pathsIn(configSchema, parse(yaml))]));
  const known = [...new Set(pathsIn(configSchema, EVERY))];

  const isIn = (kind: string): boolean => [...occurring].some((path) => path.includes(`(${kind})`));
  const chipsNotIn = SENSOR_KINDS.filter(({ kind, scan }) => scan !== undefined && !isIn(kind)).map(({ kind }) => kind);
  const isNamed = (path: string): boolean =>
    NOT_IN_WORLDS.some(([beginning]) => names(beginning, path)) ||
    [...KINDS_NOT_IN_WORLDS, ...chipsNotIn].some((kind) => path.includes(`(${kind})`));

  test('draw on every option of the configuration, but for those that are named with a reason', () => {
    const missing = known.filter((path) => !occurring.has(path) && !isNamed(path));
    expect(missing).toEqual([]);
    expect(known.length).toBeGreaterThan(200);
  });

  test('name as missing what is missing', () => {
    const needless = NOT_IN_WORLDS.filter(([beginning]) => {
      const named = known.filter((path) => names(beginning, path));
      return named.length === 0 || named.some((path) => occurring.has(path));
    });
    expect(needless).toEqual([]);
    expect(KINDS_NOT_IN_WORLDS.filter(isIn)).toEqual([]);
    expect(SENSOR_KINDS.some(({ kind, scan }) => scan !== undefined && isIn(kind))).toBe(true);
  });

  test('have configurations that the reader takes', async () => {
    for (const yaml of yamls.filter((_, at) => at % 10 === 0)) expect(await configFrom(yaml)).toBeDefined();
  });
});

/** True for a path that begins so, or, with `$` at its end, is the whole of it. */
function names(beginning: string, path: string): boolean {
  return beginning.endsWith('$') ? path === beginning.slice(0, -1) : path.startsWith(beginning);
}

function yamlOf(seed: number): string {
  return siteYaml(drawSite(new Chance(seed).fork('site')), drawnApart(seed));
}

/** Options that a value has, or all that its schema has, with `[]` for entries, `*` for free names and `(kind)` for what only one kind has. */
function* pathsIn(schema: Schema, value: unknown, path = ''): Generator<string> {
  const { schema: inner } = bare(schema);
  const { def } = (inner as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return yield* pathsOfEach(def.element, value, `${path}[]`);
  if (def.type === 'record') return yield* pathsOfEach(def.valueType, value, `${path}.*`);
  const shapes = value === EVERY ? shapesOf(inner) : [shapeOf(inner, value)];
  if (OPAQUE.test(path) || shapes.every((shape) => Object.keys(shape.members).length === 0)) return yield path;
  for (const { kind, members } of shapes) {
    for (const [key, member] of Object.entries(members)) {
      const label = kind === undefined || isCommon(inner, key) ? '' : `(${kind})`;
      yield* pathsIn(
        member,
        value === EVERY ? EVERY : (value as Record<string, unknown>)[key],
        `${path}${label}${path === '' ? '' : '.'}${key}`,
      );
    }
  }
}

function* pathsOfEach(schema: Schema, value: unknown, path: string): Generator<string> {
  if (value === EVERY) return yield* pathsIn(schema, EVERY, path);
  for (const one of Object.values(value as object)) yield* pathsIn(schema, one, path);
}

interface Shape {
  readonly kind?: string | undefined;
  readonly members: Readonly<Record<string, Schema>>;
}

/** Shapes of the mappings that a schema takes. */
function shapesOf(schema: Schema): readonly Shape[] {
  const { def } = (bare(schema).schema as z.core.$ZodTypes)._zod;
  if (def.type === 'union') return def.options.flatMap(shapesOf);
  if (def.type !== 'object') return [];
  const tag = def.shape.kind === undefined ? undefined : (bare(def.shape.kind).schema as z.core.$ZodTypes)._zod.values;
  return [{ kind: tag === undefined ? undefined : String([...tag][0]), members: def.shape }];
}

/** Shape of the mapping that a value is. */
function shapeOf(schema: Schema, value: unknown): Shape {
  if (typeof value !== 'object' || value === null) return { members: {} };
  const members = Object.keys(value).flatMap((key) => {
    const member = memberSchema(schema, value, key);
    return member === undefined ? [] : [[key, member] as const];
  });
  return { kind: 'kind' in value ? String(value.kind) : undefined, members: Object.fromEntries(members) };
}

/** Says that each kind of a union has the option. */
function isCommon(schema: Schema, key: string): boolean {
  return shapesOf(schema).every(({ members }) => Object.hasOwn(members, key));
}
