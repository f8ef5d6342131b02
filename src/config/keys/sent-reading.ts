/** A reading as the platform gets it: the key, the unit and the places of its report rules, after its conversion. */
import type { JsonValue } from '../../values/json.ts';
import type { KeyRulesConfig, SensorConfig } from '../schema/agent-config.ts';
import { rulesOfReading } from './sensor-keys.ts';

interface KeyedReading {
  readonly key: string;
  readonly value: JsonValue;
  readonly unit?: string | undefined;
}

/** Returns the reading as it is sent; one of a sensor that is configured no more stays as it is. */
export function sentReading<R extends KeyedReading>(sensor: SensorConfig | undefined, reading: R): R {
  const rules = sensor && rulesOfReading(sensor, reading.key);
  if (rules === undefined) return reading;
  const { rename = reading.key, unit = reading.unit, round, asText } = rules;
  const sent = { ...reading, key: rename, value: keptText(rounded(reading.value, round), asText) };
  return unit === undefined ? sent : { ...sent, unit };
}

/** Rounds a number to so many places; anything else stays as it is. */
export function rounded(value: JsonValue, places: number | undefined): JsonValue {
  return typeof value === 'number' && places !== undefined ? roundTo(value, places) : value;
}

/** A text in the form in which the platform keeps it as one; anything else stays as it is. */
export function keptText(value: JsonValue, asText: KeyRulesConfig['asText']): JsonValue {
  if (typeof value !== 'string' || asText === undefined) return value;
  return asText === 'json' ? { text: value } : `${asText.prefix}${value}`;
}

/** Rounds half away from zero in decimal, as a person would: 1.005 to two places is 1.01. */
function roundTo(value: number, places: number): number {
  // From here on a double has no places to round.
  if (Math.abs(value) >= 2 ** 53) return value;
  const shifted = Number(`${Math.abs(value)}e${places}`);
  // Very small numbers are written with an exponent already, and what many places make of a number may be.
  if (!Number.isFinite(shifted) || shifted >= 1e21) return Number(value.toFixed(places));
  return Math.sign(value) * Number(`${Math.round(shifted)}e-${places}`) + 0;
}
