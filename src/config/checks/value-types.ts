/** Rules and alarms that wait for a value which never comes: their sensor gives another type, or the key is left out. */
import type { ValueType } from '../../sensors/kind/definition.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding, findingAtKey } from '../fields/findings.ts';
import { readingsOf } from '../keys/rule-parts.ts';
import { typesForRules, valueTypeOf } from '../keys/sensor-keys.ts';
import type { ConditionConfig, SensorConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

const IN_WORDS: Readonly<Record<ValueType, string>> = { boolean: 'true or false', number: 'a number', string: 'a text' };
const EQUAL_TO: Readonly<Record<ValueType, string>> = { boolean: 'on or off', number: 'a number', string: 'a text' };

export const checkRuleTypes: Check = ({ sensors, rules }) => {
  const readings = rules.flatMap(({ config, path }) => readingsOf(config, path));
  const watched = new Set(readings.map(({ sensor }) => sensor));
  const types = new Map(sensors.flatMap(({ config }) => (watched.has(config.name) ? [[config.name, typesForRules(config)]] : [])));
  return readings.flatMap(({ sensor, key, path, condition }) => {
    const type = types.get(sensor)?.get(key);
    if (type === undefined) return [];
    if (condition !== undefined) return conditionFaults(condition, type, path);
    const problem = `gives nothing to the curve, as the value is ${IN_WORDS[type]}:`;
    return type === 'number' ? [] : [finding([...path, 'key'], problem, 'a key whose values are numbers')];
  });
};

/** Those that are written for a key; what `*` says need not be for all. */
export const checkAlarmTypes: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, { alarms = [], report }]) => {
      const place = [...path, 'keys', key, 'alarms'];
      // No fault: a release that refused what the one before took would be rolled back for it.
      if (alarms.length > 0 && !report)
        return [findingAtKey(place, 'never raised, as the key is not reported', 'no alarms, or report: true', { warning: true })];
      const type = key === '*' || alarms.length === 0 ? undefined : valueTypeOf(config, key);
      if (type === undefined || type === 'number' || (type === 'boolean' && countsOnAndOff(config))) return [];
      const expected = 'a key whose values are numbers, or a rule with equal';
      return [findingAtKey(place, `never raised, as the value is ${IN_WORDS[type]}`, expected)];
    }),
  );

function conditionFaults({ above, below, equal }: ConditionConfig, type: ValueType, path: ConfigPath): Finding[] {
  const problem = `never holds, as the value is ${IN_WORDS[type]}:`;
  const limits = type === 'number' ? [] : Object.entries({ above, below }).filter(([, limit]) => limit !== undefined);
  const findings = limits.map(([limit]) => finding([...path, limit], problem, `equal: with ${EQUAL_TO[type]}`));
  if (equal !== undefined && typeof equal !== type) findings.push(finding([...path, 'equal'], problem, EQUAL_TO[type]));
  return findings;
}

/** A window makes numbers of true and false. */
function countsOnAndOff({ window }: SensorConfig): boolean {
  return window?.statistics.some((statistic) => statistic !== 'count' && statistic !== 'last') ?? false;
}
