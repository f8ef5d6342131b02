/** Names and values of outputs, rules and readings in the sentences of the timeline, as the configuration in force calls them. */
import { namesOfReading } from '../config/keys/sensor-keys.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { Labels } from '../names/sentences.ts';
import { type Named, nameText } from '../names/shown-text.ts';
import type { ToldAlarm } from '../telemetry/alarm-change.ts';
import type { JsonValue } from '../values/json.ts';

/** The configuration in force. */
export type NamingConfig = Pick<AgentConfig, 'sensors' | 'actuators' | 'rules'>;

/** A reading in a sentence. */
export interface NamedReading {
  readonly name: string;
  readonly value: JsonValue;
  readonly class: string | undefined;
  readonly unit: string | undefined;
}

/** An output in a sentence. */
export interface NamedOutput {
  readonly name: string;
  readonly class: string | undefined;
}

/** Returns the output's label, else its name, and its class. */
export function namedOutput({ actuators }: Pick<NamingConfig, 'actuators'>, name: string): NamedOutput {
  const found = actuators.find((one) => one.name === name);
  return { name: found?.label ?? name, class: found?.class };
}

/** Returns the label of a reading, else its key in words. */
export function readingName(
  { sensors }: Pick<NamingConfig, 'sensors'>,
  { sensor, key, reading }: Pick<ToldAlarm, 'sensor' | 'key' | 'reading'>,
): string {
  const config = sensors.find(({ name }) => name === sensor);
  return nameText({ label: config && namesOfReading(config, { key: reading }).label, key });
}

/** Returns the reading's label, else its key in words, with its value and what tells how people read it. */
export function namedReading(
  { sensors }: Pick<NamingConfig, 'sensors'>,
  { sensor, key, reading, unit, value }: Pick<ToldAlarm, 'sensor' | 'key' | 'reading' | 'unit' | 'value'>,
): NamedReading {
  const config = sensors.find(({ name }) => name === sensor);
  const names: Named & { readonly unit?: string | undefined } =
    config === undefined ? { unit } : namesOfReading(config, { key: reading, unit });
  return { name: nameText({ label: names.label, key }), value, class: names.class, unit: names.unit };
}

/** Returns labels of rules and outputs, and of one output the class. */
export function labelsOf(
  { rules = [], actuators }: Pick<NamingConfig, 'actuators'> & Partial<Pick<NamingConfig, 'rules'>>,
  output?: string,
): Labels {
  const labelOf = (all: readonly { readonly name: string; readonly label?: string }[], name: string) =>
    all.find((one) => one.name === name)?.label;
  return {
    rule: (name) => labelOf(rules, name),
    output: (name) => labelOf(actuators, name),
    class: actuators.find(({ name }) => name === output)?.class,
  };
}
