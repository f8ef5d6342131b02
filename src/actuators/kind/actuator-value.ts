/** Values for actuators as people, dashboards and scripts send them: what is unambiguous is taken, what is not is refused with what would be. */
import { AgentError } from '../../errors/agent-error.ts';
import { isJsonObject, type JsonValue, stringifyJson } from '../../values/json.ts';
import { type ActuatorSettings, type ActuatorValue, inWords } from './actuator.ts';

const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ...(['on', 'true', '1'] as const).map((word) => [word, true] as const),
  ...(['off', 'false', '0'] as const).map((word) => [word, false] as const),
]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const MAX_SHOWN_LENGTH = 60;

const TAKEN: Readonly<Record<ActuatorSettings['valueType'], string>> = {
  boolean: 'true or false (also "on", "off", 1, 0)',
  number: 'a number',
  string: 'a text',
};
const EXAMPLES: Readonly<Record<ActuatorSettings['valueType'], string>> = {
  boolean: 'true',
  number: '42',
  string: '"text"',
};

type Taker = Pick<ActuatorSettings, 'valueType' | 'texts'>;

/** The value in the actuator's own type, bare or as `{value}`; undefined where it could mean more than one thing, or nothing. */
export function valueFor({ valueType, texts }: Taker, wrapped: unknown): ActuatorValue | undefined {
  const given = isWrapped(wrapped) ? wrapped.value : wrapped;
  if (typeof given !== 'boolean' && typeof given !== 'number' && typeof given !== 'bigint' && typeof given !== 'string')
    return undefined;
  const text = String(given).trim().toLowerCase();
  if (valueType === 'boolean') return SWITCHES.get(text);
  if (valueType === 'string') {
    const told = typeof given === 'boolean' && texts !== undefined ? inWords(given) : String(given);
    return texts === undefined || texts.includes(told) ? told : undefined;
  }
  const value = text === 'off' || text === 'false' ? 0 : NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

function isWrapped(given: unknown): given is { readonly value: unknown } {
  return isJsonObject(given) && Object.hasOwn(given, 'value') && Object.keys(given).length === 1;
}

/** Words for what an actuator takes, by itself or wrapped. */
export function takenBy({ valueType, texts }: Taker): string {
  if (texts !== undefined) return `one of ${texts.join(', ')}, bare or as {"value": "${texts[0] ?? ''}"}`;
  return `${TAKEN[valueType]}, bare or as {"value": ${EXAMPLES[valueType]}}`;
}

/** @throws AgentError `actuators/wrong-type` (drop) that says what the actuator takes. */
export function expectValueFor(settings: Taker & Pick<ActuatorSettings, 'name'>, given: unknown): ActuatorValue {
  const value = valueFor(settings, given);
  if (value !== undefined) return value;
  const words = `${settings.name} takes ${takenBy(settings)}; it was given ${shown(given)}`;
  throw new AgentError('actuators/wrong-type', words, { recovery: 'drop' });
}

function shown(given: unknown): string {
  const text = given === undefined ? 'nothing' : stringifyJson(given as JsonValue);
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
