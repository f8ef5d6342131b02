/**
 * Something that is told in words over a serial line. Values are of the type that the configuration tells: each in a template, or each by
 * bytes of its own.
 */
import { valueType } from '../../config/fields/actuator-fields.ts';
import { serialPortFields } from '../../config/fields/addresses.ts';
import { badCheck, NUMBER_TYPES, numberType, rangeOf, VALUE_PLACE } from '../../config/fields/command-template.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, pattern, table, text } from '../../config/fields/fields.ts';
import { type Finding, finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { commandCheck } from '../../config/fields/frames.ts';
import { byteText, hexText } from '../../config/fields/request-text.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

/** `on`, `off`, a number or a word. */
const spokenValue = () => text(/^[^\p{Cc}]{1,64}$/u, 'a value: on, off, a number or a word');

const schema = actuatorSection('serial-write', () => ({
  ...serialPortFields,
  /** Default: boolean for `send` with `on` and `off`, else number. */
  valueType: valueType().removeDefault().optional(),
  /**
   * `{value}` is replaced by the value as a word, `{value:uint16}` by its bytes (`{value:uint16le}`, the low byte first), `{check}` by the check
   * sum; each other character is one byte.
   */
  template: text(
    /^(?=[\s\S]*\{value(?::\w+)?\})[^\u0100-\uffff]*$/,
    'a template with {value} in it, of characters up to U+00FF, each one byte',
  )
    .meta({ private: true })
    .optional(),
  /** In place of a template: what each value is told by. Each character is one byte. */
  send: table(spokenValue(), byteText('sendHex').min(1).max(1_024)).meta({ private: true }).optional(),
  /** The same in hex. */
  sendHex: table(spokenValue(), hexText().max(4_096)).meta({ private: true }).optional(),
  /** Check sum of what a template makes: over all before it, or from `from` on. It stands last, or where `{check}` is. */
  check: commandCheck.optional(),
  /** The answer that means success; without it a complete write does. */
  expect: pattern().optional(),
  replyTimeout: duration({ min: '10ms', max: '1m' }).prefault('1s'),
}));

export type SerialWriteConfig = ConfigOf<typeof schema>;

export const serialWrite = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: typeOf,
  texts: (config) => (typeOf(config) === 'string' && config.template === undefined ? sentValues(config) : undefined),
  range: ({ template = '' }) => rangeOf(template),
  holds: (config, value) => typeOf(config) !== 'number' || isSent(config, value),
  isReadable: () => false,
  deadlineMs: ({ replyTimeoutMs }, usualMs) => replyTimeoutMs + usualMs,
  // A text that is told twice may be done twice.
  isIdempotent: false,
  hasOwnSupply: true,
  faults,
});

function sentValues({ send = {}, sendHex = {} }: SerialWriteConfig): readonly string[] {
  return [...Object.keys(send), ...Object.keys(sendHex)];
}

function typeOf(config: SerialWriteConfig): 'boolean' | 'number' | 'string' {
  if (config.valueType !== undefined) return config.valueType;
  const values = sentValues(config);
  return values.length > 0 && values.every((value) => value === 'on' || value === 'off') ? 'boolean' : 'number';
}

function isSent(config: SerialWriteConfig, value: number): boolean {
  return config.template !== undefined || sentValues(config).includes(String(value));
}

function faults(config: SerialWriteConfig, path: ConfigPath): Finding[] {
  const { template, check: sum } = config;
  const ways = (['template', 'send', 'sendHex'] as const).filter((way) => config[way] !== undefined);
  if (ways.length === 0)
    return [findingAtKey(path, 'tells nothing', 'template: with {value} in it, or send: with the bytes of each value')];
  if (template !== undefined && ways.length > 1)
    return [findingAtKey([...path, ways[1] ?? 'send'], `${ways[1]} beside template`, 'one of them')];
  if (template === undefined)
    return [...sentFaults(config, path), ...(sum ? [noEffect(path, 'check', 'template')] : [])];
  const [, type] = VALUE_PLACE.exec(template) ?? [];
  const hasPlace = template.includes('{check}');
  return [
    ...(type !== undefined && numberType(type) === undefined
      ? [finding([...path, 'template'], 'no such type of number:', NUMBER_TYPES.join(', '), { value: type })]
      : []),
    ...(type !== undefined && typeOf(config) === 'string'
      ? [finding([...path, 'template'], 'no bytes of a number for texts:', '{value}, or valueType: number')]
      : []),
    ...(hasPlace && sum === undefined
      ? [finding([...path, 'template'], 'no check sum for', 'check: beside template', { value: '{check}' })]
      : []),
    ...(sum === undefined ? [] : badCheck(sum, [...path, 'check'])),
  ];
}

/** Values that are told by bytes are those of the type. */
function sentFaults(config: SerialWriteConfig, path: ConfigPath): Finding[] {
  const type = typeOf(config);
  const { send = {}, sendHex = {} } = config;
  const wrong = (['send', 'sendHex'] as const).flatMap((way) =>
    Object.keys(config[way] ?? {}).flatMap((value) => {
      const at = [...path, way, value];
      if (way === 'sendHex' && value in send) return [findingAtKey(at, 'told twice:', 'each value once', { value })];
      if (type === 'boolean' && value !== 'on' && value !== 'off')
        return [findingAtKey(at, 'no value of an output that switches:', 'on and off', { value })];
      if (type === 'number' && (value.trim() === '' || String(Number(value)) !== value))
        return [findingAtKey(at, 'no number:', 'a number as it is usually written', { value })];
      return [];
    }),
  );
  const missing = type === 'boolean' ? ['on', 'off'].filter((value) => !(value in send) && !(value in sendHex)) : [];
  return [
    ...wrong,
    ...missing.map((value) =>
      findingAtKey([...path, config.send ? 'send' : 'sendHex'], `no bytes for ${value}`, 'on and off'),
    ),
  ];
}
