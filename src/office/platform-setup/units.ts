/** Units of the platform's keys: a value comes there as a bare number, so that its name, or the gateway's own configuration, has to say the unit. */
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import { keyRulesOf, platformKeysOf, sensorKeys } from '../../config/keys/sensor-keys.ts';
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import { definitionOf, SENSOR_KINDS } from '../../kinds/sensor-kinds.ts';

/** By key; `null` is a number without a unit. */
export type Units = ReadonlyMap<string, string | null>;

/** Keys of the agent's own, of updates and of alarms: no measurements. */
const NO_READING = /_(alarm|state|error)$|^(current|target)_[fs]w_|^[fs]w_/;
/** Endings of keys of meters and windows: tariff, subunit, block, statistic. */
const ENDING = /_(t\d+|u\d+|\d+|mean|min|max|last)$/;

const VOCABULARY: Units = new Map([
  ...SENSOR_KINDS.flatMap(({ kind }) => Object.entries(definitionOf(kind).units ?? {})),
  ...Object.entries(MEASUREMENT_UNITS),
]);

/** Returns those of these keys whose unit is known, as `told` or by their names: `cellar.temperature_max` is a temperature. */
export function unitsOf(keys: readonly string[], told: Units): Units {
  const known = keys.flatMap((key): [string, string][] => {
    const unit = told.get(key) ?? unitByName(key);
    return unit === undefined || unit === null ? [] : [[key, unit]];
  });
  return new Map(known);
}

/** Units that a gateway's configuration gives to the keys of its own sensors. */
export function unitsIn(config: AgentConfig): Units {
  return new Map(
    config.sensors
      .filter(({ enabled, device }) => enabled && device === undefined)
      .flatMap((sensor) => {
        const units = definitionOf(sensor.kind).units ?? {};
        const own = (sensorKeys(sensor) ?? []).map(
          (key) => [key, keyRulesOf(sensor, key)?.unit ?? units[key] ?? null] as const,
        );
        return own.flatMap(([key, unit]) => platformKeysOf(sensor, key).map((name) => [name, unit] as const));
      }),
  );
}

/** A few keys of each unit of the vocabulary, for a platform that has no readings yet. */
export function usualUnits(perUnit: number): Units {
  const counts = new Map<string, number>();
  const usual = Object.entries(MEASUREMENT_UNITS).filter(([, unit]) => {
    if (unit === null) return false;
    counts.set(unit, (counts.get(unit) ?? 0) + 1);
    return (counts.get(unit) ?? 0) <= perUnit;
  });
  return new Map(usual);
}

function unitByName(key: string): string | null | undefined {
  if (NO_READING.test(key)) return undefined;
  const last = key.slice(key.lastIndexOf('.') + 1);
  return VOCABULARY.get(last) ?? VOCABULARY.get(last.replace(ENDING, ''));
}
