/** Alarms that contradict each other, or that nobody could tell apart. */
import type { KeyRulesConfig } from '../agent-config.ts';
import type { ConfigPath } from '../config-fault.ts';
import type { Finding } from '../fields/findings.ts';
import type { Check } from './draft.ts';

/** What `<key>_alarm` says when no alarm is on; telemetry/alarm-thresholds.ts. */
const ALARM_CLEAR = 'ok';

export const checkAlarms: Check = ({ sensors }) =>
  sensors.flatMap(({ config, path }) =>
    Object.entries(config.keys).flatMap(([key, rules]) => alarmFaults(rules.alarms ?? [], [...path, 'keys', key, 'alarms'])),
  );

function alarmFaults(alarms: NonNullable<KeyRulesConfig['alarms']>, path: ConfigPath): Finding[] {
  const findings: Finding[] = [];
  const names = new Set([ALARM_CLEAR]);
  const lowestAbove = Math.min(...alarms.map(({ above }) => above ?? Number.POSITIVE_INFINITY));
  for (const [index, { above, below, name }] of alarms.entries()) {
    if ((above === undefined) === (below === undefined))
      findings.push({
        path: [...path, index],
        problem: above === undefined ? 'an alarm without threshold' : 'an alarm with two thresholds',
        value: '',
        expected: 'above or below',
      });
    else if (below !== undefined && below > lowestAbove)
      findings.push({
        path: [...path, index, 'below'],
        problem: 'an alarm is always on:',
        expected: `at most ${lowestAbove}, where the alarm above begins`,
      });
    if (name !== undefined && names.has(name))
      findings.push({
        path: [...path, index, 'name'],
        problem: name === ALARM_CLEAR ? 'reserved for when there is no alarm:' : 'two alarms of one name:',
        expected: 'a name of its own',
      });
    if (name !== undefined) names.add(name);
  }
  return findings;
}
