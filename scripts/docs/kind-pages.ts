/** A page for every kind of sensor and actuator, made from its folder and its schema. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { z } from 'zod';
import { actuatorFields } from '../../src/config/fields/actuator-fields.ts';
import { sensorFields } from '../../src/config/fields/sensor-fields.ts';
import { ACTUATOR_KINDS } from '../../src/kinds/actuator-kinds.ts';
import { definitionOf, SENSOR_KINDS } from '../../src/kinds/sensor-kinds.ts';
import { ROOT } from '../bundle.ts';
import type { ErrorCodeFound } from './error-codes.ts';
import { examplesIn, sectionsIn } from './example-text.ts';
import { kindFaults } from './kind-faults.ts';
import { block, code, filledTable, list, page, part, plain, sentence, table } from './markdown.ts';
import { familiesOf, fieldsOf, headOf } from './option-comments.ts';
import { type OptionRow, optionRows } from './option-rows.ts';

/** A page of the reference: its path below docs/reference, and a line of it for the index. */
export interface ReferencePage {
  readonly path: string;
  readonly name: string;
  readonly says: string;
  readonly text: string;
}

type Group = 'sensors' | 'actuators';
type SensorDefinition = ReturnType<typeof definitionOf>;
type Config = Parameters<NonNullable<SensorDefinition['keys']>>[0];

export const folderOf = (group: Group, kind: string): string => join(ROOT, 'src', group, kind);

export function sensorPages(errors: readonly ErrorCodeFound[]): readonly ReferencePage[] {
  return SENSOR_KINDS.map(({ kind }) => {
    const definition = definitionOf(kind);
    const config = exampleConfig(definition);
    return kindPage({ group: 'sensors', kind, schema: definition.schema, shared: Object.keys(sensorFields), errors }, [
      foundBy(definition),
      keysOf(definition, config),
      remedies(definition, config),
    ]);
  });
}

export function actuatorPages(errors: readonly ErrorCodeFound[]): readonly ReferencePage[] {
  return ACTUATOR_KINDS.map(({ kind, schema, isIdempotent, hasOwnSupply }) =>
    kindPage({ group: 'actuators', kind, schema, shared: Object.keys(actuatorFields), errors }, [
      part(
        'In use',
        list([
          isIdempotent ? 'Setting a value twice is the same as once.' : 'Setting a value twice may do something twice.',
          hasOwnSupply
            ? 'It stays as it is while the gateway has no power.'
            : 'It does not hold its state while the gateway has no power.',
        ]),
      ),
    ]),
  );
}

interface Kind {
  readonly group: Group;
  readonly kind: string;
  readonly schema: z.ZodType;
  /** Options that all of the group have. */
  readonly shared: readonly string[];
  readonly errors: readonly ErrorCodeFound[];
}

/** @param more parts that only its group has, between options and faults. */
function kindPage({ group, kind, schema, shared, errors }: Kind, more: readonly (string | undefined)[]): ReferencePage {
  const folder = folderOf(group, kind);
  const one = group === 'sensors' ? 'sensor' : 'actuator';
  const families = familiesOf(folder);
  const rows = optionRows(schema, { kind, fields: fieldsOf(folder) }, [...shared, 'kind']);
  const says = sentence(plain(headOf(folder, 'definition.ts')));
  const text = page(kind, [
    says,
    `Kind of ${one}: ${code(`kind: ${kind}`)}.`,
    part(
      'A configuration that works',
      ...examplesIn(folder).map(({ caption, text: example }) => `${caption}\n\n${block('yaml', example)}`),
      ...scripts(folder),
    ),
    part('Options', optionTable(rows), `Beside those of [every ${one}](../every-${one}.md).`),
    ...more,
    kindFaults([folder, ...families], [...new Set(rows.map(({ path }) => path))], errors),
    part('Source', sources(folder, families)),
  ]);
  return { path: `${group}/${kind}.md`, name: kind, says, text };
}

/** Options that every sensor, or every actuator, has. */
export function sharedPage(one: 'sensor' | 'actuator'): ReferencePage {
  const [kind, fields, folder] =
    one === 'sensor' ? (['host', sensorFields, 'sensors'] as const) : (['pwm', actuatorFields, 'actuators'] as const);
  const { schema } = one === 'sensor' ? definitionOf('host') : ACTUATOR_KINDS[1];
  const rows = optionRows(schema, { kind, fields: fieldsOf(folderOf(folder, kind)) });
  const names = Object.keys(fields);
  const says = `Options of every ${one}, whatever its kind.`;
  const shared = rows.filter(({ path }) => names.includes(path.split(/[.[]/)[0] ?? ''));
  const further =
    one === 'sensor'
      ? '[Configuration](../configuration.md#from-what-comes-to-the-value) has the order in which a value is converted.'
      : '[Outputs](../outputs.md) has what they mean together.';
  const keyWords =
    'A key is the name of a value at the platform: 1 to 255 characters, without `<`, `>`, `&`, quotes, commas or double braces.';
  return {
    path: `every-${one}.md`,
    name: `every ${one}`,
    says,
    text: page(`Options of every ${one}`, [says, further, optionTable(shared), keyWords]),
  };
}

function optionTable(rows: readonly OptionRow[]): string | undefined {
  return table(
    ['Option', 'Meaning', 'Takes', 'Default'],
    rows.map(({ path, meaning, takes, byDefault }) => [code(path), meaning, takes, byDefault]),
  );
}

/** Other files of a user's own that an example names. */
function scripts(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => `${code(name)}:\n\n${block('js', readFileSync(join(folder, name), 'utf8'))}`);
}

function exampleConfig(definition: SensorDefinition): Config | undefined {
  const [example] = examplesIn(folderOf('sensors', definition.kind));
  const [section] = example === undefined ? [] : sectionsIn(example.text, 'sensors', definition.kind);
  const parsed = definition.schema.safeParse(section);
  return parsed.success ? ({ ...(parsed.data as object), deadlineMs: 0 } as Config) : undefined;
}

function keysOf(definition: SensorDefinition, config: Config | undefined): string | undefined {
  const type = (key: string): string =>
    config === undefined
      ? ''
      : (definition.valueType?.(config, key) ?? (definition.valueType === undefined ? 'number' : ''));
  if (definition.units !== undefined)
    return part(
      'Keys',
      filledTable(
        ['Key', 'Unit', 'Value'],
        Object.entries(definition.units).map(([key, unit]) => [code(key), unit ?? '', type(key)]),
      ),
    );
  const keys = config === undefined ? undefined : definition.keys?.(config);
  if (config === undefined || keys === undefined) return undefined;
  const rows = keys.map((key) => [code(key), unitIn(config, key), type(key)]);
  return part(
    'Keys',
    definition.keysVary === true ? undefined : 'They follow from the options. Those of the first example:',
    filledTable(['Key', 'Unit', 'Value'], rows),
  );
}

/** Unit that an example gives to a key, by its rule, register or field. */
function unitIn(config: Config, key: string): string {
  const tables = ['keys', 'registers', 'fields', 'channels'] as const;
  const among = config as Readonly<
    Partial<Record<(typeof tables)[number], Readonly<Record<string, { readonly unit?: string }>>>>
  >;
  return tables.map((name) => among[name]?.[key]?.unit).find((unit) => unit !== undefined) ?? '';
}

function foundBy({ scan, oneWireFamily, onSerialPort, everywhere }: SensorDefinition): string | undefined {
  const lines: string[] = [];
  if (scan !== undefined) {
    const [first, last] = [scan.addresses[0], scan.addresses.at(-1)].map(
      (address = 0) => `0x${address.toString(16).padStart(2, '0')}`,
    );
    const how = scan.isCertain
      ? 'It tells what it is, so that a find is certain.'
      : 'It does not tell what it is: another chip at its address may be taken for it.';
    lines.push(
      `${code('turnstone scan i2c')} finds it at the addresses ${first === last ? first : `${first} to ${last}`}. ${how}`,
    );
  }
  if (oneWireFamily !== undefined)
    lines.push(`${code('turnstone scan one-wire')} finds it: its id begins with ${code(`${oneWireFamily}-`)}.`);
  if (onSerialPort !== undefined) lines.push(`${code('turnstone scan serial')} finds it by what it sends.`);
  if (everywhere !== undefined) lines.push(`Every gateway can have it: ${code(everywhere)}`);
  return part('Finding it', list(lines));
}

function remedies(definition: SensorDefinition, config: Config | undefined): string | undefined {
  const own = config === undefined ? undefined : definition.remedy?.(config);
  const { device } = definition;
  const lines = [
    ...(own === undefined ? [] : [sentence(plain(own))]),
    ...(device === undefined ? [] : [`Without ${code(device.path)}: ${plain(device.enable)}.`]),
  ];
  return lines.length === 0 ? undefined : part('When it does not answer', list(lines));
}

/** Where its facts come from: the documents that its driver names, and its folder. */
function sources(folder: string, families: readonly string[]): string {
  const drivers = [folder, ...families].filter((one) => readdirSync(one).includes('driver.ts'));
  const documents = drivers
    .flatMap((one) => headOf(one, 'driver.ts').split(/(?<=\.)\s+(?=[A-Z])/))
    .filter((words) => /^(Datasheets?|ROHM)\b/.test(words));
  const links = [folder, ...families]
    .map((one) => relative(join(ROOT, 'docs/reference/sensors'), one))
    .map((path) => `[${code(path.replace(/^[./]+/, ''))}](${path}/)`);
  return list([...documents.map(plain), ...links]);
}
