/** Which keys a sensor gives, as far as its configuration says it. */

import { definitionOf } from '../../kinds/sensor-kinds.ts';
import { measuredClass } from '../../pages/names/classes.js';
import type { ValueType } from '../../sensors/kind/definition.ts';
import { typeAfter } from '../fields/conversion.ts';
import type { KeyRulesConfig, SensorConfig } from '../schema/agent-config.ts';
import { statisticKey } from './added-keys.ts';

/** The driver's own keys; undefined when only the sensor knows them. */
export function sensorKeys(sensor: SensorConfig): readonly string[] | undefined {
  const { units, keys } = definitionOf(sensor.kind);
  return units === undefined ? keys?.(sensor) : Object.keys(units);
}

/** Returns the type of one of the driver's keys after its conversion; undefined when only the sensor knows. */
export function valueTypeOf(sensor: SensorConfig, key: string): ValueType | undefined {
  return typeAfter(keyRulesOf(sensor, key) ?? {}, sourceTypeOf(sensor, key));
}

/** Returns the type in which the driver gives it. */
export function sourceTypeOf(sensor: SensorConfig, key: string): ValueType | undefined {
  const { valueType } = definitionOf(sensor.kind);
  return valueType === undefined ? 'number' : valueType(sensor, key);
}

/** The keys by which local rules know its values, reported or not. */
export function keysForRules(sensor: SensorConfig): readonly string[] | undefined {
  return sensorKeys(sensor)?.flatMap((key) => namesForRules(sensor, key));
}

/** Returns the platform's keys for one of the driver's: none, one, or one for each statistic. */
export function platformKeysOf(sensor: SensorConfig, key: string): readonly string[] {
  return keyRulesOf(sensor, key)?.report === false ? [] : namesForRules(sensor, key);
}

/** Returns the keys by which local rules know one of the driver's: one, or one for each statistic. */
export function namesForRules(sensor: SensorConfig, key: string): readonly string[] {
  return withStatistics(sensor, platformKeyOf(sensor, key));
}

/** The platform's name of one of the driver's keys, without a window's statistic. */
export function platformKeyOf(sensor: SensorConfig, key: string): string {
  return `${sensor.prefix ?? ''}${keyRulesOf(sensor, key)?.rename ?? key}`;
}

function withStatistics({ window }: SensorConfig, name: string): readonly string[] {
  return window === undefined
    ? [name]
    : [...new Set(window.statistics)].map((statistic) => statisticKey(name, statistic));
}

/** Its readings as the sampler has them; undefined when only the sensor knows them. @param keyOf under which name a driver's key goes. */
export function readingsOf(sensor: SensorConfig, keyOf: (key: string) => string): readonly string[] | undefined {
  return sensorKeys(sensor)?.flatMap((key) => withStatistics(sensor, keyOf(key)));
}

/** Returns the types of these keys where they are known; of a window's statistics only the last value is no number. */
export function typesForRules(sensor: SensorConfig): ReadonlyMap<string, ValueType> {
  return new Map(
    (sensorKeys(sensor) ?? []).flatMap((key) => {
      const type = valueTypeOf(sensor, key);
      const given = type === undefined ? [] : namesForRules(sensor, key);
      return given.map(
        (name) =>
          [name, sensor.window === undefined || name.endsWith('_last') ? type : 'number'] as [string, ValueType],
      );
    }),
  );
}

/** The report rules of a sensor's key: its own, or those of `*`. */
export function keyRulesOf(sensor: Pick<SensorConfig, 'keys'>, key: string): KeyRulesConfig | undefined {
  return Object.hasOwn(sensor.keys, key) ? sensor.keys[key] : sensor.keys['*'];
}

/** `temperature_mean`: a window's statistic of `temperature`. */
const STATISTIC = /^(.+)_(mean|min|max|count|sum|last)$/;

/**
 * The report rules of a reading. A window's statistics follow the rules of the key they are made of, under their own names; a count is no
 * measurement, so that it is not watched.
 */
export function rulesOfReading(sensor: SensorConfig, key: string): KeyRulesConfig | undefined {
  const [, base, statistic] = (sensor.window === undefined ? undefined : STATISTIC.exec(key)) ?? [];
  const written = keyRulesOf(sensor, base ?? key);
  if (written === undefined && sensor.prefix === undefined) return undefined;
  const rename = platformKeyOf(sensor, base ?? key);
  const rules = { report: true, ...written, ...(rename !== (base ?? key) && { rename }) };
  if (base === undefined) return rules;
  const { report, minIntervalMs, maxIntervalMs } = rules;
  const named = { ...(rules.rename !== undefined && { rename: statisticKey(rename, statistic ?? '') }) };
  if (statistic !== 'count') return { ...rules, ...named };
  return {
    ...named,
    report,
    ...(minIntervalMs !== undefined && { minIntervalMs }),
    ...(maxIntervalMs !== undefined && { maxIntervalMs }),
  };
}

/** Registers and fields of a sensor that is read by them, by its keys. */
export interface ReadFrom {
  readonly registers?: Sources | undefined;
  readonly fields?: Sources | undefined;
}
type Sources = Readonly<Record<string, { readonly class?: string | undefined }>>;

/**
 * Returns label, class and unit of a reading, by the driver's key: its own, else the class of its register or field, else that of the sensor, else
 * the one that unit and key tell. A window's statistic has the label of the key that it is made of, with its own name behind it.
 */
export function namesOfReading(
  sensor: Pick<SensorConfig, 'class' | 'keys' | 'window'> & ReadFrom,
  { key, unit }: { readonly key: string; readonly unit?: string | undefined },
): Pick<KeyRulesConfig, 'label' | 'class' | 'unit'> {
  const [, base = key, statistic] = (sensor.window === undefined ? undefined : STATISTIC.exec(key)) ?? [];
  const rules: Partial<KeyRulesConfig> = keyRulesOf(sensor, base) ?? {};
  const label = rules.label === undefined || statistic === undefined ? rules.label : `${rules.label} ${statistic}`;
  const shownUnit = rules.unit ?? unit;
  if (statistic === 'count') return { label, class: 'count', unit: undefined };
  const given = rules.class ?? classOfSource(sensor, base) ?? sensor.class;
  return { label, class: given ?? measuredClass(base, shownUnit), unit: shownUnit };
}

/** Returns the class that a register or a field says of its key: that of a model or a preset, too. */
function classOfSource({ registers = {}, fields = {} }: ReadFrom, key: string): string | undefined {
  for (const sources of [registers, fields]) if (Object.hasOwn(sources, key)) return sources[key]?.class;
  return undefined;
}

/** True when a reading that a sensor gave before a change of its configuration is still one of its readings, as far as the configuration says it. */
export function givesStill(
  sensor: SensorConfig,
  {
    before,
    reading,
    keyOf,
  }: { readonly before: SensorConfig; readonly reading: string; readonly keyOf: (key: string) => string },
): boolean {
  const readings = readingsOf(sensor, keyOf);
  if (readings !== undefined) return readings.includes(reading);
  const statistic = (before.window === undefined ? undefined : STATISTIC.exec(reading))?.[2];
  return statistic === undefined || sensor.window?.statistics.some((given) => given === statistic) === true;
}
