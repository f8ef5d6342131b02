/** Walks a schema beside the raw values it describes: for positions of faults, files that must exist, live settings, secrets. */
import { z } from 'zod';
import type { ConfigPath } from '../fields/config-fault.ts';

type Schema = z.core.$ZodType;

/** Facts that fields state about themselves through `.meta()`. */
export interface FieldMeta {
  readonly live?: boolean;
  readonly secret?: boolean;
  /** May hold a secret that nobody can tell from the rest. */
  readonly private?: boolean;
  /** It names where a secret is. */
  readonly names?: 'secret-file' | 'secret-credential';
  /** File or program that must exist when the configuration is checked. */
  readonly exists?: 'file' | 'program';
  readonly amount?: { readonly unit: string; readonly min?: number; readonly max?: number };
  readonly expected?: string;
  /** `regex` where a regular expression is made of it. */
  readonly format?: string;
}

/** A schema without its wrappers (defaults, optional, transforms), with what the wrappers said. */
export interface Bare {
  readonly schema: Schema;
  readonly meta: FieldMeta;
}

export interface Field extends Bare {
  readonly path: ConfigPath;
  readonly value: unknown;
}

export function bare(schema: Schema): Bare {
  let inner = schema;
  let meta: FieldMeta = {};
  for (;;) {
    const said = z.globalRegistry.get(inner) as FieldMeta | undefined;
    if (said !== undefined) meta = { ...said, ...meta };
    const { def } = (inner as z.core.$ZodTypes)._zod;
    if (def.type === 'pipe') inner = def.in;
    // Not its getter, which makes a new schema at each call.
    else if (def.type === 'lazy') inner = (inner as z.core.$ZodLazy)._zod.innerType;
    else if (def.type === 'optional' || def.type === 'default' || def.type === 'prefault' || def.type === 'readonly')
      inner = def.innerType;
    else return { schema: inner, meta };
  }
}

/** The keys a mapping may have, when it is one with fixed keys. */
export function knownKeys(schema: Schema, value: unknown): readonly string[] {
  return Object.keys(shapeOf(bare(schema).schema, value) ?? {});
}

/** The schema of one member of a value; undefined where there is none. */
export function memberSchema(schema: Schema, value: unknown, key: string | number): Schema | undefined {
  return membersOf(bare(schema).schema, value)(key);
}

/** The schemas of a value's members by their key; what it is made of is found out once for all of them. */
function membersOf(inner: Schema, value: unknown): (key: string | number) => Schema | undefined {
  const { def } = (inner as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return () => def.element;
  if (def.type === 'record') return () => def.valueType;
  const shape = shapeOf(inner, value);
  return (key) => (shape !== undefined && Object.hasOwn(shape, key) ? shape[key] : undefined);
}

/** Follows a path through schema and value together. */
export function fieldAt(schema: Schema, value: unknown, path: ConfigPath): Field | undefined {
  let [at, here]: [Schema, unknown] = [schema, value];
  for (const key of path) {
    const next = memberSchema(at, here, key);
    if (next === undefined) return undefined;
    here = memberOf(here, key);
    at = next;
  }
  return { path, value: here, ...bare(at) };
}

/** Calls back for every value that the schema knows, outer before inner. */
export function visitFields(
  schema: Schema,
  value: unknown,
  visit: (field: Field) => void,
  path: ConfigPath = [],
): void {
  const inner = bare(schema);
  visit({ path, value, ...inner });
  if (typeof value !== 'object' || value === null) return;
  const schemaOf = membersOf(inner.schema, value);
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const member = schemaOf(key);
    if (member !== undefined) visitFields(member, memberOf(value, key), visit, [...path, key]);
  }
}

function memberOf(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}

function shapeOf(schema: Schema, value: unknown): Readonly<Record<string, Schema>> | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return def.shape;
  if (def.type !== 'union') return undefined;
  const discriminator = 'discriminator' in def ? String(def.discriminator) : undefined;
  const tag = discriminator === undefined ? undefined : memberOf(value, discriminator);
  for (const option of def.options) {
    if (discriminator !== undefined && option._zod.propValues?.[discriminator]?.has(tag as never) !== true) continue;
    const shape = shapeOf(bare(option).schema, value);
    if (shape !== undefined) return shape;
  }
  return undefined;
}
