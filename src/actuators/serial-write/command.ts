/** Bytes of a command: a template with the value as a word or as bytes, and its check sum; or what is declared for each value. */
import { sumOf } from '../../config/fields/check-sum.ts';
import { numberType, PLACES, VALUE_PLACE } from '../../config/fields/command-template.ts';
import { type CheckConfig, FIELD_BYTES } from '../../config/fields/frames.ts';
import { bytesOf, bytesOfText } from '../../config/fields/request-text.ts';
import { refusal } from '../../errors/agent-error.ts';
import { wordOf } from '../../values/argument-template.ts';
import { type ActuatorValue, inWords } from '../kind/actuator.ts';

export interface CommandConfig {
  readonly template?: string | undefined;
  readonly send?: Readonly<Record<string, string>> | undefined;
  readonly sendHex?: Readonly<Record<string, string>> | undefined;
  readonly check?: CheckConfig | undefined;
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
