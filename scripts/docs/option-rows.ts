/** Options of a section, made of its schema: a row for each, with those within others below them. */
import { z } from 'zod';
import { code, codes, plain, sentence } from './markdown.ts';
import { commentOf, type Fields } from './option-comments.ts';
import { wordsFor } from './option-words.ts';

/** The parts of a JSON Schema that ours have. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly description?: string;
  readonly expected?: string;
  readonly live?: boolean;
}

export interface OptionRow {
  /** `registers.KEY.address`. */
  readonly path: string;
  readonly meaning: string;
  readonly takes: string;
  /** A default in words, `required`, or nothing. */
  readonly byDefault: string;
}

export interface OptionSource {
  readonly kind: string;
  readonly fields: readonly Fields[];
}

/** Words for a value that has options of its own. */
export const SECTION = 'options, below';
/** Beginning of the words for a key at the platform, which would fill a table. */
const PLATFORM_KEY = 'a key of 1 to 255 characters';

/** The bound of a list that has no other. */
const MANY_ITEMS = 10_000;

/** @param leaveOut options of the section that stand elsewhere. */
export function optionRows(
  schema: z.ZodType,
  of: OptionSource,
  leaveOut: readonly string[] = [],
): readonly OptionRow[] {
  const whole = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' }) as Schema;
  const rows = rowsWithin(whole, '', of);
  return rows.filter(
    ({ path }) => !leaveOut.some((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`)),
  );
}

function rowsWithin(schema: Schema, prefix: string, of: OptionSource): readonly OptionRow[] {
  const variants = variantsOf(schema);
  if (variants.length > 1) return rowsOfVariants(variants, prefix, of);
  const [{ properties = {}, required = [] } = {}] = variants;
  return Object.entries(properties).flatMap(([name, option]) => {
    const row: OptionRow = {
      path: prefix + name,
      meaning: meaningOf({ name, path: prefix + name, option, siblings: Object.keys(properties) }, of),
      takes: takes(option),
      byDefault: byDefault(option, required.includes(name)),
    };
    return [row, ...below(option, prefix + name, of)];
  });
}

/** What stands within an option: its own options, those by key, those of each item. */
function below(option: Schema, path: string, of: OptionSource): readonly OptionRow[] {
  const byKey = option.additionalProperties === false ? undefined : option.additionalProperties;
  return [
    ...rowsWithin(option, `${path}.`, of),
    ...(byKey === undefined ? [] : rowsWithin(byKey, `${path}.KEY.`, of)),
    ...(option.items === undefined ? [] : rowsWithin(option.items, `${path}[].`, of)),
  ];
}

/** The sections among the choices of a value. */
function variantsOf(schema: Schema): readonly Schema[] {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.flatMap(variantsOf);
  return schema.properties === undefined ? [] : [schema];
}

/** Options that only some variants have say with which choice they go. */
function rowsOfVariants(variants: readonly Schema[], prefix: string, of: OptionSource): readonly OptionRow[] {
  const [teller] = Object.entries(variants[0]?.properties ?? {}).find(
    ([, option]) => choicesOf(option) !== undefined,
  ) ?? [''];
  const rows = new Map<string, { readonly row: OptionRow; readonly choices: string[] }>();
  const all = variants.flatMap((variant) => choicesOf(variant.properties?.[teller]) ?? []).map(String);
  for (const variant of variants) {
    const choices = (choicesOf(variant.properties?.[teller]) ?? []).map(String);
    for (const row of rowsWithin(variant, prefix, of)) {
      const same = row.path === prefix + teller ? row.path : JSON.stringify(row);
      const known = rows.get(same) ?? { row: row.path === same ? { ...row, takes: codes(all) } : row, choices: [] };
      known.choices.push(...choices);
      rows.set(same, known);
    }
  }
  return [...rows.values()].map(({ row, choices }) =>
    choices.length === all.length || row.path === prefix + teller
      ? row
      : { ...row, meaning: `${row.meaning} Only with ${code(teller)} ${codes(choices)}.` },
  );
}

function choicesOf(option: Schema | undefined): readonly unknown[] | undefined {
  return option?.enum ?? (option?.const === undefined ? undefined : [option.const]);
}

interface Placed {
  readonly name: string;
  readonly path: string;
  readonly option: Schema;
  readonly siblings: readonly string[];
}

function meaningOf({ name, path, option, siblings }: Placed, { kind, fields }: OptionSource): string {
  const words = commentOf(fields, name, siblings) ?? wordsFor(kind, path);
  const told = words === undefined ? '' : sentence(plain(words));
  return option.live === true ? `${told} A shared attribute can change it.`.trim() : told;
}

function takes(option: Schema): string {
  const { type, description, expected, items, minItems = 0, maxItems = MANY_ITEMS } = option;
  const choices = choicesOf(option);
  if (choices !== undefined) return codes(choices.map(String));
  const any = option.anyOf ?? option.oneOf;
  if (any !== undefined)
    return [...new Set(any.map(takes))].sort((a, b) => Number(a === SECTION) - Number(b === SECTION)).join(', or ');
  if (description !== undefined) return amount(description);
  if (type === 'boolean') return codes(['true', 'false']);
  if (items !== undefined) return `a list${counted(minItems, maxItems)}: ${takes(items)}`;
  if (option.properties !== undefined) return SECTION;
  if (option.additionalProperties) return `by key: ${takes(option.additionalProperties)}`;
  if (type === 'integer' && expected === undefined) return `a whole number${range(option)}`;
  if (expected?.startsWith(PLATFORM_KEY) === true) return 'a key';
  if (expected !== undefined) return plain(expected.replace(/^a whole number from (\S+) to (\S+)$/, '$1 to $2'));
  if (type === 'number') return `a number${range(option)}`;
  if (type === 'null') return code('null');
  if (option.maxLength === 1) return 'one character';
  return option.maxLength === undefined ? 'text' : `text, at most ${option.maxLength} characters`;
}

/** `a duration such as 500ms, 10s, 5m or 1h30m, at least 10ms, at most 1d` in few words. */
function amount(description: string): string {
  const [, kind = description, , rest = ''] =
    /^a (\w+) such as (.*?)((?:, at (?:least|most) \S+)*)$/.exec(description) ?? [];
  const least = /at least (\S+?)(?:,|$)/.exec(rest)?.[1];
  const most = /at most (\S+)$/.exec(rest)?.[1];
  if (least !== undefined && most !== undefined) return `${least} to ${most}`;
  return `a ${kind}${rest}`.replace(/^a a /, 'a ');
}

function range({ minimum, exclusiveMinimum, maximum }: Schema): string {
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`;
  const least = minimum !== undefined && Number.isSafeInteger(minimum) ? minimum : undefined;
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  return most === undefined ? '' : `, at most ${most}`;
}

function counted(least: number, most: number): string {
  if (most >= MANY_ITEMS) return least > 0 ? `, at least ${least}` : '';
  return least === most ? ` of ${least}` : ` of at most ${most}`;
}

function byDefault(option: Schema, isRequired: boolean): string {
  const { default: value, expected = '' } = option;
  if (value === undefined) return isRequired ? '**required**' : '';
  if (typeof value === 'number' && expected.includes('0x')) return code(`0x${value.toString(16).padStart(2, '0')}`);
  if (typeof value === 'object')
    return Object.keys(value ?? {}).length === 0
      ? ''
      : code(JSON.stringify(value).replaceAll('"', '').replaceAll(',', ', '));
  return code(typeof value === 'string' ? JSON.stringify(value).slice(1, -1) : String(value));
}
