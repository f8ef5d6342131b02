/** Messages of an output: the one that tells a value, and the value that one of the device tells. */
import { parseJsonPath, valueAt } from '../../config/fields/json-path.ts';
import { refusal } from '../../errors/agent-error.ts';
import { wordOf } from '../../values/argument-template.ts';
import { parseJson, stringifyJson } from '../../values/json.ts';
import { type ActuatorValue, inWords } from '../kind/actuator.ts';
import { valueFor } from '../kind/actuator-value.ts';
import { type MqttOutputConfig, typeOf } from './definition.ts';

type Wording = Pick<MqttOutputConfig, 'send' | 'template' | 'valueType'>;
type Spoken = Pick<MqttOutputConfig, 'send' | 'statePath' | 'states' | 'valueType'>;

const MAX_STATE_BYTES = 65_536;

/** State that a message tells: a value, or a text that is none; undefined where it tells nothing of the state. */
export type ToldState = { readonly value: ActuatorValue } | { readonly unknown: string };

/** @throws AgentError `actuators/bad-value` (drop) for a value without a message. */
export function messageFor({ send, template }: Wording, value: ActuatorValue): string {
  if (template === undefined) {
    const word = inWords(value);
    const message = send !== undefined && Object.hasOwn(send, word) ? send[word] : undefined;
    if (message === undefined) throw refusal('actuators/bad-value', `there is no message for ${word}`);
    return message;
  }
  const word = wordOf(value);
  const isText = typeof value === 'string' && isJson(template.replaceAll('{value}', '0'));
  // A quote in it would end the text, and what is behind it would be members of the command.
  const filling = isText ? JSON.stringify(word).slice(1, -1) : word;
  return template.replaceAll('{value}', () => filling);
}

/** State in a message; undefined for an empty one, and for one without the place. */
export function stateIn(config: Spoken, payload: Uint8Array): ToldState | undefined {
  if (payload.length === 0 || payload.length > MAX_STATE_BYTES) return undefined;
  const text = Buffer.from(payload).toString('utf8').trim();
  const told = config.statePath === undefined ? text : textAt(text, config.statePath);
  return told === undefined ? undefined : stateOf(config, told);
}

function stateOf(config: Spoken, told: string): ToldState {
  const { states, send = {} } = config;
  const valueType = typeOf(config);
  const word = wordFor(states, told) ?? wordFor(send, told);
  // Names of a table are the only ones, but for texts, which name themselves.
  const isNatural = states === undefined && (valueType !== 'string' || Object.keys(send).length === 0 || told in send);
  const value = word ?? (isNatural ? told : undefined);
  const taken = value === undefined ? undefined : valueFor({ valueType }, value);
  return taken === undefined ? { unknown: told.slice(0, 60) } : { value: taken };
}

function wordFor(table: Readonly<Record<string, string>> | undefined, told: string): string | undefined {
  return Object.entries(table ?? {}).find(([, text]) => text.trim() === told)?.[0];
}

/** Text of the value at a place; undefined where there is none, or a null. */
function textAt(text: string, path: string): string | undefined {
  try {
    const value = valueAt(parseJson(text), parseJsonPath(path) ?? []);
    if (value === undefined || value === null) return undefined;
    return typeof value === 'object' ? stringifyJson(value) : String(value);
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
