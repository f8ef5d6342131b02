/** turnstone.yaml(5), from the schema of the configuration: each section and option with its default, its range and what it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../bundle.ts';
import { plainJsonSchema } from '../schema.ts';
import { bold, definition, example, heading, paragraphs, subheading, title } from './roff.ts';

type Schema = Readonly<Record<string, unknown>>;

const INTRODUCTION = `\
The configuration of turnstone(1), in YAML. An unknown key or a wrong value keeps the agent from starting; turnstone check-config tells all of \
them at once, each with line and column.

A value may be \${NAME}, which stands for an environment variable of the service. Secrets can stand in files of their own: xFile beside x names \
one, and xCredential names a systemd credential.

Below, a.b is the key b of the section a, a[] an entry of a list, and a.NAME an entry under a name of your own.`;

const EXAMPLE = 'config/provisioning.example.yaml';

/** Lists whose entries have a kind, with options of its own. */
const LISTS_OF_KINDS = ['sensors', 'actuators'] as const;

export function configurationPage(version: string): string {
  const properties = propertiesOf(plainJsonSchema());
  const lists = new Set<string>(LISTS_OF_KINDS);
  const plainSections = Object.entries(properties).filter(([name]) => !lists.has(name));
  const single = plainSections.filter(([, schema]) => !isNested(schema));
  return [
    title('turnstone.yaml', 5, version, 'configuration of the Turnstone device agent'),
    heading('DESCRIPTION'),
    paragraphs(INTRODUCTION),
    heading('OPTIONS'),
    ...single.flatMap(([name, schema]) => optionsBelow(name, schema)),
    ...plainSections
      .filter(([, schema]) => isNested(schema))
      .flatMap(([name, schema]) => [subheading(name), ...sectionOf(name, schema)]),
    ...LISTS_OF_KINDS.flatMap((name) => kindsOf(name, properties[name] ?? {})),
    heading('EXAMPLE'),
    example(readFileSync(join(ROOT, EXAMPLE), 'utf8').trimEnd().split('\n')),
    heading('FILES'),
    definition(bold('/etc/turnstone/turnstone.yaml'), 'the usual place'),
    heading('SEE ALSO'),
    `${bold('turnstone')}(1)\n`,
  ].join('');
}

/** Options that every kind has, then each kind's own. */
function kindsOf(list: string, schema: Schema): readonly string[] {
  const kinds = variantsOf(schema.items as Schema).filter((one) => propertiesOf(one).kind?.const !== undefined);
  const [first = {}, ...others] = kinds.map(propertiesOf);
  const shared = Object.entries(first).filter(([key, own]) =>
    others.every((one) => JSON.stringify(one[key]) === JSON.stringify(own)),
  );
  const sharedKeys = new Set(shared.map(([key]) => key));
  return [
    subheading(`${list}, all kinds`),
    ...shared.flatMap(([key, own]) => optionsBelow(`${list}[].${key}`, own)),
    ...kinds.flatMap((kind) => {
      const { kind: name, ...own } = propertiesOf(kind);
      const rows = Object.entries(own).filter(([key]) => !sharedKeys.has(key));
      return [
        subheading(`${list}, kind: ${name?.const}`),
        ...rows.flatMap(([key, one]) => optionsBelow(`${list}[].${key}`, one, isRequired(kind, key))),
      ];
    }),
  ];
}

/** Options of a section; its own line only where it is a list, or says something. */
function sectionOf(name: string, schema: Schema): readonly string[] {
  return schema.properties !== undefined && schema.description === undefined
    ? insideOf(name, schema)
    : optionsBelow(name, schema);
}

/** An option, and those inside of it. */
function optionsBelow(path: string, schema: Schema, required = false): readonly string[] {
  const says = wordsOf(schema, required);
  return [definition(bold(path), says), ...insideOf(path, schema)];
}

function insideOf(path: string, schema: Schema): readonly string[] {
  const found = new Map<string, string>();
  for (const one of variantsOf(schema)) {
    for (const [key, own] of Object.entries(propertiesOf(one)))
      if (!found.has(key)) found.set(key, optionsBelow(`${path}.${key}`, own, isRequired(one, key)).join(''));
    if (isNested(one.additionalProperties))
      found.set('NAME', insideOf(`${path}.NAME`, one.additionalProperties).join(''));
    if (isNested(one.items)) found.set('[]', insideOf(`${path}[]`, one.items).join(''));
  }
  return [...found.values()];
}

function wordsOf(schema: Schema, required: boolean): string {
  const { description, default: usual } = schema;
  const said = typeof description === 'string' ? description : rangeOf(schema);
  // An empty section stands for its own defaults.
  const byDefault = usual === undefined || JSON.stringify(usual) === '{}' ? '' : `default ${shown(usual)}`;
  return [said, byDefault, required ? 'required' : ''].filter((part) => part !== '').join('; ');
}

/** A list can be folded between its entries. */
function shown(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(shown).join(', ')}]` : JSON.stringify(value);
}

function rangeOf(schema: Schema): string {
  const {
    type,
    enum: words,
    const: only,
    minimum,
    maximum,
    exclusiveMinimum,
    minLength,
    maxLength,
    minItems,
    maxItems,
  } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(words)) return `one of ${words.map(String).join(', ')}`;
  const variants = variantsOf(schema);
  if (variants.length > 1) return [...new Set(variants.map(rangeOf))].filter((one) => one !== '').join(', or ');
  const name = {
    array: 'a list',
    object: 'keys and values',
    string: 'a text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
  }[String(type)];
  const bounds = [
    bound('from', minimum ?? minLength ?? minItems),
    bound('above', exclusiveMinimum),
    // Past this no bound was meant.
    maximum === Number.MAX_SAFE_INTEGER ? '' : bound('to', maximum ?? maxLength ?? maxItems),
    maxLength !== undefined ? 'characters' : maxItems !== undefined ? 'entries' : '',
  ];
  return [name ?? '', ...bounds].filter((part) => part !== '').join(' ');
}

function bound(word: string, value: unknown): string {
  return typeof value === 'number' ? `${word} ${value}` : '';
}

/** The shapes that a value may have; a reference to a shape that holds itself is told by name alone. */
function variantsOf(schema: Schema): readonly Schema[] {
  const several = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray) as readonly Schema[] | undefined;
  return several === undefined ? [schema] : several.flatMap(variantsOf);
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
}

function isRequired({ required }: Schema, key: string): boolean {
  return Array.isArray(required) && required.includes(key);
}

function isNested(schema: unknown): schema is Schema {
  if (typeof schema !== 'object' || schema === null) return false;
  return variantsOf(schema as Schema).some(
    (one) => one.properties !== undefined || isNested(one.items) || isNested(one.additionalProperties),
  );
}
