/**
 * Words by which a value that was read becomes the one that is reported, in the order in which they apply:
 *
 *   text → nulls, map → type, decimal, radix → bits, bytes, mask, shift, sign, BCD → nulls, map (of a number) → table or scale, offset
 *        → min, max → maxStep
 */
import { z } from 'zod';
import type { ValueType } from '../../sensors/kind/definition.ts';
import type { ConfigPath } from './config-fault.ts';
import { duration, list, section, table, whole } from './fields.ts';
import { type Finding, finding, findingAtKey, noEffect } from './findings.ts';

/** A register has 64 bits at most. */
const MAX_BITS = 64;
/** Bits that a double counts exactly. */
const MAX_MASK = Number.MAX_SAFE_INTEGER;

/** Words for what comes: registers have them, too. */
export const wordFields = {
  /** Texts and numbers that say that there is no value. */
  nulls: list(z.union([z.string().max(255), z.number()]), { max: 256 }).optional(),
  /** Value by what came, in letters or as a number before its scale; null is none. */
  map: table(z.string().max(255), z.union([z.boolean(), z.number(), z.string().max(1_024), z.null()])).optional(),
};

/** Which bits of a whole number are the value: registers have them, too. */
export const bitFields = {
  bytes: z.enum(['high', 'low']).optional(),
  mask: whole(0, MAX_MASK).optional(),
  shift: whole(0, MAX_BITS - 1).optional(),
  /** The highest bit is the sign, the others are the number. */
  signMagnitude: z.boolean().optional(),
  /** Each four bits are a decimal digit. */
  bcd: z.boolean().optional(),
};

export const limitFields = { min: z.number().optional(), max: z.number().optional() };

export const conversionFields = {
  ...wordFields,
  type: z.enum(['number', 'integer', 'text', 'boolean', 'json']).optional(),
  /** The decimal sign of numbers in text. */
  decimal: z.enum([',', '.']).optional(),
  /** Base of whole numbers in text. */
  radix: z.literal([2, 8, 10, 16]).optional(),
  /** Width of a whole number. */
  bits: whole(1, MAX_BITS).optional(),
  /** Two's complement in its bits. */
  signed: z.boolean().optional(),
  ...bitFields,
  /** Calibration: straight lines from point to point, and on beyond the last. */
  table: list(list(z.number(), { min: 2, max: 2 }), { max: 256 }).optional(),
  scale: z.number().optional(),
  offset: z.number().optional(),
  /** Outside is no value. */
  ...limitFields,
  /** A greater step from the last value is no value; what is allowed grows with the time since. */
  maxStep: section({ by: z.number().positive(), per: duration({ min: '1ms', max: '1d' }) }).optional(),
};

const conversion = section(conversionFields);
export type ConversionConfig = z.infer<typeof conversion>;
export type BitWords = Pick<ConversionConfig, keyof typeof bitFields>;
export type CameWords = Pick<ConversionConfig, keyof typeof wordFields>;

const WORDS = [...Object.keys(conversionFields)] as readonly (keyof ConversionConfig)[];
const OF_TEXT = ['decimal', 'radix'] as const;
const OF_BITS = ['bits', 'signed', 'bytes', 'mask', 'shift', 'signMagnitude', 'bcd'] as const;
const OF_NUMBERS = [...OF_TEXT, ...OF_BITS, 'table', 'scale', 'offset', 'min', 'max', 'maxStep'] as const;

/** The words of the chain among a key's rules, in their order; undefined without any. */
export function conversionOf(rules: ConversionConfig): ConversionConfig | undefined {
  const given = WORDS.filter((word) => rules[word] !== undefined).map((word) => [word, rules[word]]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** True when text is to be a number, though `type` does not say so. */
export function meansNumber(rules: ConversionConfig): boolean {
  return OF_TEXT.some((word) => rules[word] !== undefined) || meansBits(rules);
}

export function meansBits(rules: ConversionConfig): boolean {
  return OF_BITS.some((word) => rules[word] !== undefined);
}

/** The type after the chain of a value that came as this one; undefined when only the source knows. */
export function typeAfter(
  { type, map, ...rules }: ConversionConfig,
  from: ValueType | undefined,
): ValueType | undefined {
  if (type === 'text') return 'string';
  if (type !== undefined) return type === 'boolean' ? 'boolean' : type === 'json' ? undefined : 'number';
  const source = meansNumber(rules) ? 'number' : from;
  const words = new Set(
    Object.values(map ?? {}).flatMap((value) => (value === null ? [] : [typeof value as ValueType])),
  );
  if (words.size === 0 || source === undefined) return source;
  return words.size === 1 ? [...words][0] : undefined;
}

/** Words that contradict each other. @param of what came: its type, and whether it came as text. */
export function conversionFaults(
  rules: ConversionConfig,
  path: ConfigPath,
  of: { readonly type?: ValueType | undefined; readonly isText: boolean },
): Finding[] {
  const { type, decimal, radix, table: points, scale, offset, bits, signMagnitude, signed } = rules;
  const given = (words: readonly (keyof ConversionConfig)[]): readonly string[] =>
    words.filter((word) => rules[word] !== undefined);
  const isWord = type === 'text' || type === 'boolean' || type === 'json';
  const idle = isWord ? given(OF_NUMBERS) : !of.isText && of.type !== undefined ? given(OF_TEXT) : [];
  const findings = idle.map((word) =>
    noEffect(path, word, isWord ? 'type: number, or without type' : 'a source that gives text'),
  );
  if (decimal !== undefined && radix !== undefined)
    findings.push(finding([...path, 'decimal'], 'beside radix:', 'one of them'));
  if (points !== undefined && (scale !== undefined || offset !== undefined))
    findings.push(
      findingAtKey(
        [...path, 'table'],
        'a table beside scale or offset',
        'one of them: the table gives the value itself',
      ),
    );
  if (points !== undefined && points.length < 2)
    findings.push(findingAtKey([...path, 'table'], 'a table of one point', 'at least two'));
  const back = points?.findIndex(([x = 0], at) => x <= (points[at - 1]?.[0] ?? Number.NEGATIVE_INFINITY)) ?? -1;
  if (back >= 0)
    findings.push(
      finding([...path, 'table', back, 0], 'not greater than the point before:', 'points in ascending order'),
    );
  if (signMagnitude === true && signed === true)
    findings.push(findingAtKey([...path, 'signed'], 'signed beside signMagnitude', 'one of them'));
  if ((signMagnitude === true || signed === true) && bits === undefined)
    findings.push(
      findingAtKey(
        [...path, signed ? 'signed' : 'signMagnitude'],
        'a sign without bits',
        'bits: with the width of the number',
      ),
    );
  return [...findings, ...bitFaults(rules, path, bits), ...limitFaults(rules, path)];
}

/** @param width of the number, where it is known. */
export function bitFaults({ bytes, mask, shift = 0 }: BitWords, path: ConfigPath, width = MAX_BITS): Finding[] {
  if (mask === 0) return [finding([...path, 'mask'], 'keeps no bit:', 'a mask such as 0x00ff')];
  if (bytes !== undefined && width % 8 !== 0)
    return [finding([...path, 'bytes'], `a byte of ${width} bits:`, 'a width of whole bytes')];
  const left = Math.min(bytes === undefined ? width : 8, mask?.toString(2).length ?? MAX_BITS);
  return shift < left ? [] : [finding([...path, 'shift'], 'leaves no bit:', `at most ${left - 1}`)];
}

/** Limits that leave nothing to give. */
export function limitFaults({ min, max }: Pick<ConversionConfig, 'min' | 'max'>, path: ConfigPath): Finding[] {
  return min !== undefined && max !== undefined && min > max
    ? [finding([...path, 'min'], 'above max:', `at most ${max}`)]
    : [];
}
