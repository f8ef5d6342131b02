/** Alarm of a reading as it is told to whoever keeps a record of them. */
import type { JsonValue } from '../values/json.ts';
import type { RaisedAlarm } from './alarm-thresholds.ts';

export interface StandingAlarm extends RaisedAlarm {
  readonly sensor: string;
  readonly key: string;
  /** The driver's own key. */
  readonly reading: string;
}

export interface ToldAlarm {
  readonly sensor: string;
  /** Key and device at the platform. */
  readonly key: string;
  readonly device: string;
  /** The driver's own key and unit. */
  readonly reading: string;
  readonly unit?: string | undefined;
  readonly value: JsonValue;
  /** Limits that are crossed with this value, and those that no longer are. */
  readonly raised: readonly RaisedAlarm[];
  readonly over: readonly RaisedAlarm[];
}

/**
 * Returns the difference between two looks; undefined where there is none. Alarms that an earlier process has told are known by their names alone.
 * @param stood Names of those that stood before the first look.
 */
export function alarmChange(
  looked: readonly RaisedAlarm[],
  now: readonly RaisedAlarm[],
  stood: readonly string[],
): Pick<ToldAlarm, 'raised' | 'over'> | undefined {
  const before = looked.length > 0 ? looked : stood.map((name) => ({ name, limit: name, sinceMs: 0 }));
  const without = (all: readonly RaisedAlarm[], others: readonly RaisedAlarm[]): readonly RaisedAlarm[] =>
    all.filter(({ name }) => !others.some((other) => other.name === name));
  const [raised, over] = [without(now, before), without(before, now)];
  return raised.length + over.length === 0 ? undefined : { raised, over };
}
