import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configJsonSchema, plainJsonSchema, SCHEMA_FILE } from '../../../scripts/schema.ts';
import { faultLine } from '../../../src/config/fields/config-fault.ts';
import { withLines } from '../../../src/config/models/with-lines.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { bare } from '../../../src/config/schema/schema-walk.ts';
import { readYaml } from '../../../src/config/yaml/yaml-source.ts';

const EXAMPLE = resolve(import.meta.dirname, '../../../config/turnstone.example.yaml');

/** The example with every option switched on: lines that begin with "#" and no space behind it. */
async function everyOption(): Promise<unknown> {
  const text = await readFile(EXAMPLE, 'utf8');
  return readYaml(text.replace(/^( *)#(?=[A-Za-z]+:|- name:| {2}[a-z]+:)/gm, '$1')).tree;
}

/** Names of fields that a schema has and no value of the example shows; in a list all items count together. */
function undocumented(schema: z.core.$ZodType, values: readonly unknown[], path = ''): string[] {
  const inner = bare(schema).schema as z.core.$ZodTypes;
  const { def } = inner._zod;
  const here = values.filter((value) => typeof value === 'object' && value !== null) as Record<string, unknown>[];
  if (here.length === 0) return [];
  if (def.type === 'array')
    return undocumented(
      def.element,
      here.flatMap((value) => Object.values(value)),
      `${path}[]`,
    );
  if (def.type === 'record')
    return undocumented(
      def.valueType,
      here.flatMap((value) => Object.values(value)),
      `${path}.*`,
    );
  const shapes =
    def.type === 'object' ? [def.shape] : def.type === 'union' ? def.options.flatMap((option) => shapeOf(option)) : [];
  const missing = new Set<string>();
  for (const shape of shapes) {
    for (const [name, member] of Object.entries(shape)) {
      const shown = here.filter((value) => Object.hasOwn(value, name)).map((value) => value[name]);
      if (shown.length === 0) missing.add(`${path}.${name}`);
      else for (const deeper of undocumented(member, shown, `${path}.${name}`)) missing.add(deeper);
    }
  }
  return [...missing];
}

function shapeOf(option: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>>[] {
  const { def } = (bare(option).schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? [def.shape] : [];
}

/**
 * JSON Schema's own words, which are in every book; conditions within others, and those of an alarm, which have the options of a rule's; settings of
 * RS-485, which `lines` shows, and commands beside a read, which are text or hex as a request is.
 */
const SHAPE_WORDS =
  /\.(params|allowed|all\[\]|any\[\]|not)\.|alarms\[\]\.(time|weekdays|dates|any|not)$|\]\.(connection\.)?rs485$|connection\.on$|\.(before|after)\[\]\.(send|pause)$/;

describe('the example configuration', () => {
  it('passes check-config', async () => {
    const { config, faults, warnings } = await readConfig(EXAMPLE, { environment: {} });
    expect(faults.map((fault) => faultLine('example', fault))).toEqual([]);
    expect(warnings.filter(({ path }) => path !== '').map((fault) => faultLine('example', fault))).toEqual([]);
    expect(config).toBeDefined();
  });

  it('shows every option that the schema has', async () => {
    expect(undocumented(configSchema, [await everyOption()]).filter((name) => !SHAPE_WORDS.test(name))).toEqual([]);
  });

  it('has a sensor and an actuator of every kind', async () => {
    const tree = (await everyOption()) as Record<'sensors' | 'actuators', { readonly kind: string }[]>;
    for (const list of ['sensors', 'actuators'] as const) {
      const element = (bare(configSchema).schema as z.ZodObject).shape[list];
      const kinds = kindsOf(bare((bare(element as z.ZodType).schema as unknown as z.ZodArray).element).schema);
      expect(new Set(tree[list].map(({ kind }) => kind))).toEqual(new Set(kinds));
    }
  });

  it('has no mistake in the options that are off', async () => {
    const result = configSchema.safeParse(withLines((await everyOption()) as Record<string, unknown>).root);
    expect(result.error?.issues ?? []).toEqual([]);
  });
});

describe('the JSON Schema for editors', () => {
  it('is the one that scripts/schema.ts writes', async () => {
    expect(await readFile(SCHEMA_FILE, 'utf8')).toBe(configJsonSchema());
  });

  it('has each shape once, and means what it would mean with the shape in each of its places', async () => {
    const { definitions, ...root } = JSON.parse(await readFile(SCHEMA_FILE, 'utf8')) as Schema;
    const { definitions: recursive, ...plain } = plainJsonSchema() as ReturnType<typeof plainJsonSchema> & Schema;
    const shared = Object.fromEntries(Object.entries(definitions).filter(([name]) => !Object.hasOwn(recursive, name)));
    expect(Object.keys(shared)).toContain('window');
    expect(inPlace(root, shared)).toEqual(plain);
    expect(
      inPlace(Object.fromEntries(Object.keys(recursive).map((name) => [name, definitions[name]])), shared),
    ).toEqual(recursive);
    const texts = largeShapes([root, definitions]);
    expect(texts.filter((text, at) => texts.indexOf(text) !== at)).toEqual([]);
  });

  it('accepts the example, and not an unknown key in it', async () => {
    const schema = z.fromJSONSchema(JSON.parse(await readFile(SCHEMA_FILE, 'utf8')));
    const example: unknown = parse(await readFile(EXAMPLE, 'utf8'));
    expect(schema.safeParse(example).error?.issues ?? []).toEqual([]);
    expect(schema.safeParse({ ...(example as object), platfrom: {} }).success).toBe(false);
  });
});

function kindsOf(union: z.core.$ZodType): string[] {
  const { def } = (union as z.core.$ZodTypes)._zod;
  const options = def.type === 'union' ? def.options : [];
  return options
    .flatMap(shapeOf)
    .flatMap(({ kind }) =>
      kind === undefined ? [] : [...((bare(kind).schema as z.core.$ZodTypes)._zod.values ?? [])].map(String),
    );
}

interface Schema {
  readonly definitions: Readonly<Record<string, unknown>>;
}

/** A schema with what its references stand for. */
function inPlace(node: unknown, definitions: Schema['definitions']): unknown {
  if (Array.isArray(node)) return node.map((each) => inPlace(each, definitions));
  if (typeof node !== 'object' || node === null) return node;
  const name = '$ref' in node ? String(node.$ref).replace('#/definitions/', '') : '';
  if (Object.hasOwn(definitions, name)) return inPlace(definitions[name], definitions);
  return Object.fromEntries(Object.entries(node).map(([key, each]) => [key, inPlace(each, definitions)]));
}

function largeShapes(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const text = JSON.stringify(node, undefined, 1);
  const isShape = ('type' in node && typeof node.type === 'string') || 'anyOf' in node || 'oneOf' in node;
  return [...(isShape && text.split('\n').length > 10 ? [text] : []), ...Object.values(node).flatMap(largeShapes)];
}
