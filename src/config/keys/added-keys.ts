/** Keys at the platform that the agent makes of a name of the configuration. */

/** Says whether a sensor fails: `<sensor>_state`. */
export function sensorStateKey(sensor: string): string {
  return `${sensor}_state`;
}

/** Names the alarms that are on: `<key>_alarm`. */
export function alarmKey(key: string): string {
  return `${key}_alarm`;
}

/** Names the alarms that somebody has acknowledged: `<key>_alarm_acknowledged`. */
export function acknowledgedKey(key: string): string {
  return acknowledgedKeyOf(alarmKey(key));
}

/** Returns the same for a key, or the name of a place, that `alarmKey` has made. */
export function acknowledgedKeyOf(alarm: string): string {
  return `${alarm}_acknowledged`;
}

/** A statistic of a window: `<key>_mean`. */
export function statisticKey(key: string, statistic: string): string {
  return `${key}_${statistic}`;
}
