/** Alarms that contradict each other, or that nobody could tell apart. */

import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import type { KeyRulesConfig } from '../schema/agent-config.ts';
import type { Check } from './draft.ts';

/** Value of `<key>_alarm` while no alarm is on; telemetry/alarm-thresholds.ts. */
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
    const at = [...path, index];
    const count = above === undefined ? 'without threshold' : 'with two thresholds';
    if ((above === undefined) === (below === undefined)) findings.push(finding(at, `an alarm ${count}`, 'above or below', { value: '' }));
    else if (below !== undefined && below > lowestAbove)
      findings.push(finding([...at, 'below'], 'an alarm is always on:', `at most ${lowestAbove}, where the alarm above begins`));
    if (name !== undefined && names.has(name)) {
      const problem = name === ALARM_CLEAR ? 'reserved for when there is no alarm:' : 'two alarms of one name:';
      findings.push(finding([...at, 'name'], problem, 'a name of its own'));
    }
    if (name !== undefined) names.add(name);
  }
  return findings;
}
