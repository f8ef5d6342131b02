/**
 * Something that takes commands from an MQTT broker: a plug of Zigbee2MQTT, a relay of Tasmota, Shelly or ESPHome. A broker that takes a command
 * proves nothing; what the device says under `stateTopic` does.
 */
import { z } from 'zod';
import { valueType } from '../../config/fields/actuator-fields.ts';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { duration, name, table, text } from '../../config/fields/fields.ts';
import { type Finding, findingAtKey, noEffect } from '../../config/fields/findings.ts';
import { parseJsonPath } from '../../config/fields/json-path.ts';
import { isTopic } from '../../values/mqtt-topics.ts';
import { actuatorSection, type ConfigOf, defineActuator } from '../kind/definition.ts';

const TOPIC = 'a topic without + and #';
/** Words of the device are in memory: asking costs nothing. */
const LOOK_EVERY_MS = 1_000;
/** Beside the deadline of the device: for a connection that is being made. */
const DEADLINE_MARGIN_MS = 4_000;
const MAX_MESSAGE = 4_096;

const topic = () => z.string().max(1_024).refine(isTopic, TOPIC).meta({ expected: TOPIC });
/** `on`, `off`, a number or a word. */
const commandedValue = () => text(/^[^\p{Cc}]{1,64}$/u, 'a value: on, off, a number or a word');
const message = () => z.string().min(1).max(MAX_MESSAGE);

const schema = actuatorSection('mqtt', () => ({
  /** Name of a broker of `brokers`. */
  broker: name(),
  /** Topic of the commands. */
  topic: topic(),
  /** Default: boolean for `send` with `on` and `off` alone, text for `send` with words, else number. */
  valueType: valueType().removeDefault().optional(),
  /** Message for each value: `{ on: "ON", off: "OFF" }`. */
  send: table(commandedValue(), message()).meta({ private: true }).optional(),
  /** In place of `send`: `{value}` is replaced by the value; a text in a template that is JSON is written as JSON has it. */
  template: text(/^(?=[\s\S]*\{value\})[\s\S]{1,4096}$/, 'a template with {value} in it')
    .meta({ private: true })
    .optional(),
  /** 1: the broker acknowledges a command; 0: nobody does. */
  qos: z.literal([0, 1]).default(1),
  /** Has the broker keep the command: each time that the device connects again it gets it again, and moves again. */
  retain: z.boolean().default(false),
  /** Topic under which the device says its state: a command is done when it says so. Without it a command is done when the broker took it. */
  stateTopic: topic().optional(),
  /** Place of the state where its message is JSON: `state`, `relays[0].ison`. A message without it says nothing. */
  statePath: text(/^.{1,255}$/, 'a path').optional(),
  /** Text of the device for each value, where it is another one than `send` has, and not on, off, true, false, 1, 0 or the number itself. */
  states: table(commandedValue(), z.string().max(MAX_MESSAGE)).optional(),
  /** Time within which the device says that it is as told. A broker of MQTT 5 gives the command to nobody after it. */
  deadline: duration({ min: '100ms', max: '5m' }).prefault('5s'),
}));

export type MqttOutputConfig = ConfigOf<typeof schema>;

export const mqttOutput = defineActuator({
  schema,
  driver: () => import('./driver.ts'),
  valueType: typeOf,
  texts: (config) => (typeOf(config) === 'string' && config.send !== undefined ? Object.keys(config.send) : undefined),
  holds: ({ send }, value) => send === undefined || Object.hasOwn(send, String(value)),
  isReadable: ({ stateTopic }) => stateTopic !== undefined,
  isUnproven: ({ stateTopic }) => stateTopic === undefined,
  readEveryMs: ({ stateTopic }) => (stateTopic === undefined ? undefined : LOOK_EVERY_MS),
  deadlineMs: ({ deadlineMs }) => deadlineMs + DEADLINE_MARGIN_MS,
  isIdempotent: true,
  hasOwnSupply: true,
  faults,
});

export function typeOf({ valueType: told, send }: Pick<MqttOutputConfig, 'valueType' | 'send'>) {
  if (told !== undefined) return told;
  const values = Object.keys(send ?? {});
  if (values.length > 0 && values.every((value) => value === 'on' || value === 'off')) return 'boolean';
  return values.every(isNumber) ? 'number' : 'string';
}

function faults(config: MqttOutputConfig, path: ConfigPath): Finding[] {
  const { template, send, stateTopic, statePath } = config;
  if (template === undefined && send === undefined)
    return [
      findingAtKey(path, 'tells nothing', 'template: with {value} in it, or send: with the message of each value'),
    ];
  if (template !== undefined && send !== undefined)
    return [findingAtKey([...path, 'send'], 'send beside template', 'one of them')];
  return [
    ...valueFaults(config, path, 'send'),
    ...valueFaults(config, path, 'states'),
    ...(stateTopic === undefined
      ? (['statePath', 'states'] as const)
          .filter((option) => config[option] !== undefined)
          .map((option) => noEffect(path, option, 'stateTopic'))
      : []),
    ...(stateTopic === config.topic
      ? [findingAtKey([...path, 'stateTopic'], 'the topic of the commands', 'the topic under which the device speaks')]
      : []),
    ...(statePath !== undefined && parseJsonPath(statePath) === undefined
      ? [findingAtKey([...path, 'statePath'], 'no path', 'names and places such as state')]
      : []),
  ];
}

/** Values of a table are those of the type, and an output that switches has both. */
function valueFaults(config: MqttOutputConfig, path: ConfigPath, option: 'send' | 'states'): Finding[] {
  const all = config[option];
  if (all === undefined) return [];
  const type = typeOf(config);
  const wrong = Object.keys(all).flatMap((value) => {
    const at = [...path, option, value];
    if (type === 'boolean' && value !== 'on' && value !== 'off')
      return [findingAtKey(at, 'no value of an output that switches:', 'on and off', { value })];
    if (type === 'number' && !isNumber(value))
      return [findingAtKey(at, 'no number:', 'a number as it is usually written', { value })];
    return [];
  });
  const missing = type === 'boolean' ? ['on', 'off'].filter((value) => !Object.hasOwn(all, value)) : [];
  const what = option === 'send' ? 'message' : 'state';
  return [
    ...wrong,
    ...missing.map((value) => findingAtKey([...path, option], `no ${what} for ${value}`, 'on and off')),
  ];
}

function isNumber(value: string): boolean {
  return value.trim() !== '' && String(Number(value)) === value;
}
