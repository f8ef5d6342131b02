/** Local rules and alarms: conditions that say nothing, or several things at once, and values that never come. */

import { definitionOf } from '../../kinds/sensor-kinds.ts';
import type { ValueType } from '../../sensors/kind/definition.ts';
import { MAX_PARTS } from '../fields/conditions.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding, findingAtKey, noEffect } from '../fields/findings.ts';
import { formatDuration } from '../fields/quantity.ts';
import { type KeyOwner, meantOwners, ownersOfKeys } from '../keys/key-owners.ts';
import { childrenOf, partsOf, readingsOf } from '../keys/rule-parts.ts';
import { keysForRules, typesForRules, valueTypeOf } from '../keys/sensor-keys.ts';
import type { ConditionConfig, RuleConfig, SensorConfig } from '../schema/agent-config.ts';
import { hoursFaults } from './bounds.ts';
import type { Check, ConfigDraft } from './draft.ts';

const OTHER_FORMS = ['time', 'weekdays', 'dates', 'all', 'any', 'not'] as const;
const FORMS = 'sensor and key with one of above, below and equal, or one of time, weekdays, dates, all, any and not';
const OWN_FORMS = 'one of above, below and equal, or one of time, weekdays, dates, all, any and not';
const LOST_VALUE = 'sensorLost: beside it, with what the actuator gets while the sensor is lost';

export const checkConditions: Check = ({ rules }) =>
  rules.flatMap(({ config, path }) => {
    const { when, protect, sensorLost } = config;
    const at = [...path, 'when'];
    const parts = when === undefined ? 0 : partsOf(when).length;
    return [
      ...(when === undefined ? alwaysFaults(config, path) : conditionFaults(when, at)),
      ...(parts > MAX_PARTS ? [findingAtKey(at, `${parts} conditions`, `at most ${MAX_PARTS}`)] : []),
      ...(protect && sensorLost === undefined
        ? [findingAtKey([...path, 'protect'], 'protect without sensorLost', LOST_VALUE)]
        : []),
    ];
  });

/** Warns of a sensor that reports by event: it may say nothing for a year, and nobody knows that it is still there. */
export const checkLostSensors: Check = ({ sensors, rules }) => {
  const owners = ownersOfKeys(sensors.map(({ config }) => config));
  const isByEvent = (config: SensorConfig): boolean =>
    sourcesOf(config, sensors, owners).some((one) => definitionOf(one.kind).reportsByEvent?.(one) ?? false);
  const known = new Map(
    sensors.map(({ config }) => [config.name, { periodMs: config.periodMs, isByEvent: isByEvent(config) }]),
  );
  return rules.flatMap(({ config, path }) => {
    const { lostAfterMs } = config;
    const readings = readingsOf(config, path);
    if (lostAfterMs !== undefined) {
      const periods = readings
        .map(({ sensor }) => known.get(sensor))
        .map((sensor) => (sensor?.isByEvent === false ? sensor.periodMs : 0));
      const periodMs = Math.max(0, ...periods);
      const expected = `more than ${formatDuration(periodMs)}`;
      return lostAfterMs > periodMs
        ? []
        : [finding([...path, 'lostAfter'], 'no longer than the period of its sensor:', expected)];
    }
    const silent = readings.find(({ sensor }) => known.get(sensor)?.isByEvent === true);
    if (silent === undefined) return [];
    const problem = 'reports by event, so that the rule goes by its last value for as long as it says nothing:';
    return [finding([...silent.path, 'sensor'], problem, 'lostAfter: in the rule', { warning: true })];
  });
};

/** Sensors whose keys stand in the expressions of a derived one, which is lost when they are; any other is its own. */
function sourcesOf(
  config: SensorConfig,
  sensors: ConfigDraft['sensors'],
  owners: ReturnType<typeof ownersOfKeys>,
): readonly SensorConfig[] {
  if (config.kind !== 'derived') return [config];
  const words = new Set(
    Object.values(config.values).flatMap((source) => source.match(/[\w.]+|(?<=")[^"]+(?=")|(?<=')[^']+(?=')/g) ?? []),
  );
  const isMeant = (key: string, owner: KeyOwner): boolean =>
    words.has(key) && meantOwners(owners.get(key), config.device).includes(owner);
  const others = sensors.map((each) => each.config).filter(({ kind }) => kind !== 'derived');
  return others.filter((one) => keysForRules(one)?.some((key) => isMeant(key, one.device)) !== false);
}

function alwaysFaults({ set, otherwise }: RuleConfig, path: ConfigPath): Finding[] {
  if (set.curve === undefined)
    return [findingAtKey(path, 'no condition', 'when:, or a curve: under set, which applies always')];
  return otherwise === undefined ? [] : [noEffect(path, 'otherwise', 'when: beside it')];
}

/** @param isOwn of an alarm, which goes by the value of its own key. */
function conditionFaults(condition: ConditionConfig, path: ConfigPath, isOwn = false): Finding[] {
  const limits = (['above', 'below', 'equal'] as const).filter((one) => condition[one] !== undefined);
  const isComparison = condition.sensor !== undefined || condition.key !== undefined || limits.length > 0;
  const others = OTHER_FORMS.filter((one) => condition[one] !== undefined);
  const said = [...(others.length === 0 ? limits : isComparison ? ['a comparison'] : []), ...others];
  const below = childrenOf(condition, path).flatMap((child) => conditionFaults(child.condition, child.path, isOwn));
  const hours = condition.time === undefined ? [] : hoursFaults(condition.time, [...path, 'time']);
  if (said.length > 1) {
    const expected = others.length === 0 ? 'exactly one of above, below and equal' : 'one of them, or all: with both';
    return [findingAtKey(path, `several conditions: ${said.join(', ')}`, expected), ...hours, ...below];
  }
  if (!isComparison && others.length === 0) return [findingAtKey(path, 'no condition', isOwn ? OWN_FORMS : FORMS)];
  const isBack = isComparison && (!isOwn || condition.equal === undefined);
  const beside = isBack || condition.hysteresis === 0 ? [] : [noEffect(path, 'hysteresis', 'above or below beside it')];
  if (!isComparison) return [...beside, ...hours, ...below];
  const missing = (['sensor', 'key'] as const).filter((one) => condition[one] === undefined);
  if (missing.length > 0 && !isOwn)
    return [findingAtKey(path, `a comparison without ${missing.join(' and ')}`, `${missing.join(' and ')} beside it`)];
  return limits.length === 1 ? beside : [findingAtKey(path, 'no condition', 'exactly one of above, below and equal')];
}

const IN_WORDS: Readonly<Record<ValueType, string>> = {
  boolean: 'true or false',
  number: 'a number',
  string: 'a text',
};
const EQUAL_TO: Readonly<Record<ValueType, string>> = { boolean: 'on or off', number: 'a number', string: 'a text' };

export const checkRuleTypes: Check = ({ sensors, rules }) => {
  const readings = rules.flatMap(({ config, path }) => readingsOf(config, path));
  const watched = new Set(readings.map(({ sensor }) => sensor));
  const types = new Map(
    sensors.flatMap(({ config }) => (watched.has(config.name) ? [[config.name, typesForRules(config)]] : [])),
  );
  return readings.flatMap(({ sensor, key, path, condition }) => {
    const type = types.get(sensor)?.get(key);
    if (type === undefined) return [];
    if (condition !== undefined) return comparisonFaults(condition, type, path);
    const problem = `gives nothing to the curve, as the value is ${IN_WORDS[type]}:`;
    return type === 'number' ? [] : [finding([...path, 'key'], problem, 'a key whose values are numbers')];
  });
};

/** Alarms: a condition of the key's own value, in which at least one limit stands. */
export const checkAlarmConditions: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, { alarms = [] }]) =>
      alarms.flatMap((alarm, at) => {
        const place = [...path, 'keys', key, 'alarms', at];
        const parts = partsOf(alarm);
        const faults = conditionFaults(alarm, place, true);
        if (faults.length > 0) return faults;
        if (parts.length > MAX_PARTS) return [finding(place, `${parts.length} conditions`, `at most ${MAX_PARTS}`)];
        const hasLimit = parts.some(
          ({ condition }) => (condition.above ?? condition.below ?? condition.equal) !== undefined,
        );
        return hasLimit ? [] : [finding(place, 'an alarm without threshold', 'above, below or equal', { value: '' })];
      }),
    ),
  );

/** Those that are written for a key; what `*` says need not be for all. */
export const checkAlarmTypes: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, { alarms = [], report }]) => {
      const place = [...path, 'keys', key, 'alarms'];
      // No fault: a release that refused what the one before took would be rolled back for it.
      if (alarms.length > 0 && !report)
        return [
          findingAtKey(place, 'never raised, as the key is not reported', 'no alarms, or report: true', {
            warning: true,
          }),
        ];
      const type = key === '*' || alarms.length === 0 ? undefined : valueTypeOf(config, key);
      if (type === undefined) return [];
      const compared = type === 'boolean' && countsOnAndOff(config) ? 'number' : type;
      return alarms.flatMap((alarm, at) =>
        partsOf(alarm, [...place, at]).flatMap((part) =>
          comparisonFaults(part.condition, compared, part.path, 'never raised'),
        ),
      );
    }),
  );

function comparisonFaults(
  { above, below, equal }: Pick<ConditionConfig, 'above' | 'below' | 'equal'>,
  type: ValueType,
  path: ConfigPath,
  never = 'never holds',
): Finding[] {
  const problem = `${never}, as the value is ${IN_WORDS[type]}:`;
  const limits = type === 'number' ? [] : Object.entries({ above, below }).filter(([, limit]) => limit !== undefined);
  const findings = limits.map(([limit]) => finding([...path, limit], problem, `equal: with ${EQUAL_TO[type]}`));
  if (equal !== undefined && typeof equal !== type) findings.push(finding([...path, 'equal'], problem, EQUAL_TO[type]));
  return findings;
}

/** A window makes numbers of true and false. */
function countsOnAndOff({ window }: SensorConfig): boolean {
  return window?.statistics.some((statistic) => statistic !== 'count' && statistic !== 'last') ?? false;
}
