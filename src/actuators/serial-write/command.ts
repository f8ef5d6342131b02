/** Bytes of a command: a template with the value as a word or as bytes, and its check sum; or what is declared for each value. */
import { sumOf } from '../../config/fields/check-sum.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { type Finding, finding, findingAtKey } from '../../config/fields/findings.ts';
import { type CheckConfig, FIELD_BYTES } from '../../config/fields/frames.ts';
import { bytesOf, bytesOfText } from '../../config/fields/request-text.ts';
import { refusal } from '../../errors/agent-error.ts';
import { wordOf } from '../../values/argument-template.ts';
import { type ActuatorValue, inWords } from '../kind/actuator.ts';

/** Place of the value in a template, with the type of its bytes. */
export const VALUE_PLACE = /\{value(?::(\w+))?\}/;
const PLACES = /(\{value(?::\w+)?\}|\{check\})/;

type NumberType = Exclude<keyof typeof FIELD_BYTES, 'uint64' | 'int64'>;

interface NumberPlace {
  readonly type: NumberType;
  readonly isLittle: boolean;
}

const TYPES = Object.keys(FIELD_BYTES).filter((type) => !type.endsWith('64') || type === 'float64') as NumberType[];
export const NUMBER_TYPES: readonly string[] = TYPES.flatMap((type) =>
  type.endsWith('8') ? [type] : [type, `${type}le`],
);

export interface CommandConfig {
  readonly template?: string | undefined;
  readonly send?: Readonly<Record<string, string>> | undefined;
  readonly sendHex?: Readonly<Record<string, string>> | undefined;
  readonly check?: CheckConfig | undefined;
}

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
export function badCheck({ kind, to, at }: CheckConfig, path: ConfigPath): Finding[] {
  if (sumOf(new Uint8Array(), kind) === undefined)
    return [
      finding(path, 'no check sum that a command can have:', 'one of bytes, such as sum8 or crc16-modbus', {
        value: kind,
      }),
    ];
  const given = to === undefined ? (at === undefined ? undefined : 'at') : 'to';
  return given === undefined
    ? []
    : [
        findingAtKey(
          [...path, given],
          `${given} has no effect in a command`,
          '{check} in the template, where it stands',
        ),
      ];
}

/** @throws AgentError `actuators/bad-value` (drop) for a value without bytes. */
export function commandOf({ template, send, sendHex, check }: CommandConfig, value: ActuatorValue): Buffer {
  if (template === undefined) {
    const word = inWords(value);
    const [text, hex] = [send, sendHex].map((all) => (all && Object.hasOwn(all, word) ? all[word] : undefined));
    const bytes = bytesOf(text, hex);
    if (bytes === undefined) throw refusal('actuators/bad-value', `there are no bytes for ${word}`);
    return bytes;
  }
  let line = Buffer.alloc(0);
  const places = template.split(PLACES);
  const add = (bytes: Buffer): void => {
    line = Buffer.concat([line, bytes]);
  };
  for (const part of check === undefined || places.includes('{check}') ? places : [...places, '{check}']) {
    if (part === '{check}' && check !== undefined)
      add(sumOf(line.subarray(check.from ?? 0), check.kind) ?? Buffer.alloc(0));
    else if (VALUE_PLACE.test(part)) add(valueBytes(part, value));
    else add(bytesOfText(part));
  }
  return line;
}

function valueBytes(place: string, value: ActuatorValue): Buffer {
  const number = numberType(VALUE_PLACE.exec(place)?.[1] ?? '');
  if (number === undefined) return Buffer.from(wordOf(value));
  const { type, isLittle } = number;
  const width = FIELD_BYTES[type];
  const bytes = Buffer.alloc(width);
  if (type === 'float32') bytes.writeFloatBE(Number(value));
  else if (type === 'float64') bytes.writeDoubleBE(Number(value));
  else if (type.startsWith('u')) bytes.writeUIntBE(Math.round(Number(value)), 0, width);
  else bytes.writeIntBE(Math.round(Number(value)), 0, width);
  return isLittle ? bytes.reverse() : bytes;
}
