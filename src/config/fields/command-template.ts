/** Templates of commands on serial lines: places for a value, as a word or as bytes of a number, and for a check sum. */
import { sumOf } from './check-sum.ts';
import type { ConfigPath } from './config-fault.ts';
import { type Finding, finding } from './findings.ts';
import { type CheckConfig, FIELD_BYTES } from './frames.ts';

/** Place of the value in a template, with the type of its bytes. */
export const VALUE_PLACE = /\{value(?::(\w+))?\}/;
export const PLACES = /(\{value(?::\w+)?\}|\{check\})/;

type NumberType = Exclude<keyof typeof FIELD_BYTES, 'uint64' | 'int64'>;

interface NumberPlace {
  readonly type: NumberType;
  readonly isLittle: boolean;
}

const TYPES = Object.keys(FIELD_BYTES).filter((type) => !type.endsWith('64') || type === 'float64') as NumberType[];
export const NUMBER_TYPES: readonly string[] = TYPES.flatMap((type) =>
  type.endsWith('8') ? [type] : [type, `${type}le`],
);

/** Type of a number in a template, as `uint16` or `uint16le`. */
export function numberType(written: string): NumberPlace | undefined {
  if (!NUMBER_TYPES.includes(written)) return undefined;
  const isLittle = written.endsWith('le');
  return { type: (isLittle ? written.slice(0, -2) : written) as NumberType, isLittle };
}

/** The numbers that the place in a template has room for; undefined where it is a word. */
export function rangeOf(template: string): readonly [number, number] | undefined {
  const type = numberType(VALUE_PLACE.exec(template)?.[1] ?? '')?.type;
  if (type === undefined || type.startsWith('float')) return undefined;
  const bits = 8 * FIELD_BYTES[type];
  return type.startsWith('u') ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}

/** Check sums that cannot be made for a command. */
export function badCheck({ kind }: CheckConfig, path: ConfigPath): Finding[] {
  if (sumOf(new Uint8Array(), kind) !== undefined) return [];
  const expected = 'one of bytes, such as sum8 or crc16-modbus';
  return [finding(path, 'no check sum that a command can have:', expected, { value: kind })];
}
