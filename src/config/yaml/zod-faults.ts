/** Turns the schema library's issues into faults with words for people. */

import { safeParse, type z } from 'zod';
import type { ConfigPath, PathFault } from '../fields/config-fault.ts';
import { conversionFields } from '../fields/conversion.ts';
import { didYouMean, nearest, oneOf } from '../fields/did-you-mean.ts';
import { parseQuantity } from '../fields/quantity.ts';
import { isLikeKey } from '../fields/shown-value.ts';
import { bare, fieldAt, knownKeys } from '../schema/schema-walk.ts';
import { formerOption } from './former-options.ts';
import { MAX_FAULTS } from './yaml-bounds.ts';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** The faults of one value; `path` is where the value stands in the file. */
export function faultsOf(issues: readonly Issue[], schema: Schema, value: unknown, path: ConfigPath): PathFault[] {
  return issues.slice(0, MAX_FAULTS + 1).flatMap((issue) => faultsOfIssue(issue, schema, value, path));
}

function faultsOfIssue(issue: Issue, schema: Schema, value: unknown, base: ConfigPath): PathFault[] {
  const inner = issue.path.filter((part): part is string | number => typeof part !== 'symbol');
  const path = [...base, ...inner];
  const field = fieldAt(schema, value, inner);
  if (issue.code === 'unrecognized_keys') {
    const known = field === undefined ? [] : knownKeys(field.schema, field.value);
    const mapping = (field?.value ?? {}) as Readonly<Record<string, unknown>>;
    return issue.keys
      .slice(0, MAX_FAULTS + 1)
      .map((key) => formerKey([...path, key], mapping[key]) ?? unknownKey([...path, key], key, known));
  }
  if (issue.code === 'invalid_union' && 'discriminator' in issue && issue.discriminator !== undefined) {
    const options = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
    const written = fieldAt(schema, value, inner.slice(0, -1))?.value;
    const mapping = typeof written === 'object' && written !== null ? (written as Record<string, unknown>) : {};
    const tag = mapping[issue.discriminator];
    const misspelt = tag === undefined ? nearest(issue.discriminator, Object.keys(mapping)) : undefined;
    if (misspelt !== undefined) return [unknownKey([...path.slice(0, -1), misspelt], misspelt, [issue.discriminator])];
    return [{ path, expected: oneOf(options), ...(tag === undefined ? {} : didYouMean(String(tag), options)) }];
  }
  if (issue.code === 'invalid_union') {
    const closest = closestBranch(issue.errors);
    if (closest !== undefined && field !== undefined) return faultsOf(closest, field.schema, field.value, path);
  }
  if (issue.code === 'invalid_key')
    return [
      {
        path,
        atKey: true,
        problem: 'wrong key',
        value: JSON.stringify(inner.at(-1)),
        expected: issue.issues[0]?.message ?? 'another key',
      },
    ];
  const expected =
    issue.code === 'custom' || field === undefined ? issue.message : expectedOf(field.schema, field.meta.expected);
  return [{ path, expected, ...hintFor(field?.value, expected, field) }];
}

function formerKey(path: ConfigPath, value: unknown): PathFault | undefined {
  const hint = formerOption(path, value);
  return hint === undefined
    ? undefined
    : {
        path,
        atKey: true,
        problem: 'unknown key',
        value: JSON.stringify(path.at(-1)),
        expected: 'what replaced it',
        hint,
      };
}

const NOT_TURNED_ROUND = { hint: 'it turns what a sensor reads into a value, and this actuator cannot turn it round' };

function unknownKey(path: ConfigPath, key: string, known: readonly string[]): PathFault {
  const suggestion =
    path[0] === 'actuators' && Object.hasOwn(conversionFields, key) ? NOT_TURNED_ROUND : didYouMean(key, known);
  // A text unlike any key may be a secret that slipped in front of a colon.
  const isShown = Object.keys(suggestion).length > 0 || isLikeKey(key);
  return {
    path,
    atKey: true,
    ...(isShown ? {} : { hidesKey: true }),
    problem: 'unknown key',
    value: isShown ? JSON.stringify(key) : '',
    expected: known.length === 0 ? 'another key' : known.length === 1 ? String(known[0]) : oneOf(known),
    ...suggestion,
  };
}

/** The alternative that a person had in mind: the one that fails inside, not at the value as a whole. */
function closestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const inside = branches.filter((issues) =>
    issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  return inside.length === 1 ? inside[0] : undefined;
}

/** YAML knows 0x alone. */
const UPPER_CASE_HEX = /^-?0X[0-9A-Fa-f]{1,8}$/;
const TYPES_IN_WORDS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of keys and values',
  record: 'a mapping of keys and values',
};

/** Returns what a schema accepts, in words. */
export function expectedOf(schema: Schema, said?: string): string {
  if (said !== undefined) return said;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'number') return numberInWords(schema as z.ZodNumber);
  if (def.type === 'string') return textInWords(schema as z.ZodString);
  if (def.type === 'literal') return choices(def.values);
  if (def.type === 'enum') return choices(Object.values(def.entries));
  if (def.type !== 'union') return TYPES_IN_WORDS[def.type] ?? 'another value';
  return [...new Set(def.options.map((option) => expectedOf(bare(option).schema, bare(option).meta.expected)))].join(
    ', or ',
  );
}

function choices(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : `one of ${values.map(String).join(', ')}`;
}

function numberInWords(schema: z.ZodNumber): string {
  const isBound = (value: number | null): value is number => value !== null && Number.isFinite(value);
  const { minValue: min, maxValue: max } = schema;
  if (isBound(min) && isBound(max)) return `a number from ${min} to ${max}`;
  if (isBound(min)) return `a number, at least ${min}`;
  return isBound(max) ? `a number, at most ${max}` : 'a number';
}

function textInWords({ minLength, maxLength }: z.ZodString): string {
  if (maxLength === null) return 'text';
  return `text of ${minLength === null ? 'at most' : `${minLength} to`} ${maxLength} characters`;
}

/** The spelling of a slip that the field takes. Only of quantities: a text may be a secret. */
function meantInstead(written: string, { schema, meta }: NonNullable<ReturnType<typeof fieldAt>>): string | undefined {
  const { amount } = meta;
  if (amount !== undefined) {
    const isGood = (value: number | undefined): boolean =>
      value !== undefined && value >= (amount.min ?? 0) && value <= (amount.max ?? Number.POSITIVE_INFINITY);
    const meant = meantBy(written).find((candidate) => isGood(parseQuantity(amount.unit, candidate)));
    return meant === undefined ? undefined : JSON.stringify(meant);
  }
  const meant = numberMeantBy(written);
  return meant !== undefined && safeParse(schema, meant).success ? String(meant) : undefined;
}

function hintFor(value: unknown, expected: string, field: ReturnType<typeof fieldAt>): { readonly hint?: string } {
  // A number that is not finite, negative or too long to be written out is not meant in any unit.
  const isPlain = typeof value === 'number' && /^\d+(\.\d+)?$/.test(String(value));
  if (isPlain && expected.startsWith('a duration')) return { hint: `did you mean "${value}s"?` };
  if (isPlain && expected.startsWith('a size')) return { hint: `did you mean "${value}B"?` };
  if (field === undefined) return {};
  const { schema, meta } = field;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (
    typeof value === 'string' &&
    def.type === 'number' &&
    value.trim() !== '' &&
    Number.isFinite(Number(value)) &&
    !UPPER_CASE_HEX.test(value)
  )
    return { hint: 'remove the quotes' };
  if (typeof value === 'string' && UPPER_CASE_HEX.test(value))
    return { hint: `did you mean ${value.replace('X', 'x')}, without quotes?` };
  const isQuantity = def.type === 'number' || meta.amount !== undefined;
  const meant = typeof value === 'string' && isQuantity ? meantInstead(value, field) : undefined;
  if (meant !== undefined) return { hint: `did you mean ${meant}?` };
  if (typeof value === 'number' && def.type === 'string') return { hint: 'put it in quotes' };
  if (typeof value === 'string' && def.type === 'boolean' && /^(on|yes)$/i.test(value))
    return { hint: 'did you mean true?' };
  if (typeof value === 'string' && def.type === 'boolean' && /^(off|no)$/i.test(value))
    return { hint: 'did you mean false?' };
  if (typeof value === 'string' && def.type === 'enum')
    return didYouMean(value, Object.values(def.entries).map(String));
  return {};
}

/** Spaces that look like one, and a sign that looks like a minus. */
const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/[\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]/g, ' '],
  [/[\u2010-\u2015\u2212]/g, '-'],
];
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d) *(?:milliseconds?|msecs?)\b/gi, 'ms'],
  [/(?<=\d) *(?:seconds?|secs?)\b/gi, 's'],
  [/(?<=\d) *(?:minutes?|mins?)\b/gi, 'm'],
  [/(?<=\d) *(?:hours?|hrs?)\b/gi, 'h'],
  [/(?<=\d) *days?\b/gi, 'd'],
];
/** No value that is mistyped is longer. */
const MAX_LENGTH = 64;

/** Spellings that may have been meant, the most careful first; whoever asks takes the first that fits. */
function meantBy(written: string): readonly string[] {
  if (written.length > MAX_LENGTH) return [];
  const replaced = (text: string, by: typeof UNITS): string =>
    by.reduce((now, [slip, meant]) => now.replace(slip, meant), text);
  const seen = replaced(written, LOOK_ALIKES).trim();
  const decimal = seen.replace(/(?<=\d),(?=\d)/g, '.');
  const inUnits = replaced(decimal, UNITS);
  return [seen, decimal, inUnits, inUnits.replaceAll(' ', '')].filter(
    (text, n, all) => text !== written && all.indexOf(text) === n,
  );
}

/** The number that a text was meant to be. */
function numberMeantBy(written: string): number | undefined {
  const text = [written, ...meantBy(written)]
    .map((one) => one.replace(/^(-?)0X/, '$10x'))
    .find((one) => one.trim() !== '' && Number.isFinite(Number(one)));
  return text === undefined ? undefined : Number(text);
}
