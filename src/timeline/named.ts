/** Names and values of outputs, rules and readings in the sentences of the timeline, as the configuration in force calls them. */
import { namesOfReading } from '../config/keys/sensor-keys.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { type NamedValue, nameText, shownText } from '../names/shown-text.ts';
import type { ToldAlarm } from '../telemetry/alarm-change.ts';
import type { JsonValue } from '../values/json.ts';

/** The configuration in force. */
export type NamingConfig = Pick<AgentConfig, 'sensors' | 'actuators' | 'rules'>;

/** An output in a sentence. */
export interface NamedOutput {
  readonly name: string;
  /** `on`, `running`, `60`, `unknown`. */
  readonly text: (value: JsonValue | undefined) => string;
}

/** Returns the output's label, else its name, and its states by its class. */
export function namedOutput({ actuators }: Pick<NamingConfig, 'actuators'>, name: string): NamedOutput {
  const found = actuators.find((one) => one.name === name);
  return { name: found?.label ?? name, text: (value = null) => shownText(value, { class: found?.class }) };
}

/** Returns the label of a reading, else its key in words. */
export function readingName(
  { sensors }: Pick<NamingConfig, 'sensors'>,
  { sensor, key, reading }: Pick<ToldAlarm, 'sensor' | 'key' | 'reading'>,
): string {
  const config = sensors.find(({ name }) => name === sensor);
  return nameText({ label: config && namesOfReading(config, { key: reading }).label, key });
}

/** `Room temperature is 7.2 °C`. */
export function readingWords(
  { sensors }: Pick<NamingConfig, 'sensors'>,
  { sensor, key, reading, unit, value }: Pick<ToldAlarm, 'sensor' | 'key' | 'reading' | 'unit' | 'value'>,
  { above, below }: Pick<NamedValue, 'above' | 'below'> = {},
): string {
  const config = sensors.find(({ name }) => name === sensor);
  const names: NamedValue = config === undefined ? { unit } : namesOfReading(config, { key: reading, unit });
  return `${nameText({ ...names, key })} is ${shownText(value, { unit: names.unit, class: names.class, above, below })}`;
}
