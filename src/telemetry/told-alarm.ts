/** Alarm of a reading as it is told to whoever keeps a record of them. */
import type { JsonValue } from '../host/json.ts';
import type { RaisedAlarm } from './alarm-thresholds.ts';

export interface StandingAlarm extends RaisedAlarm {
  readonly sensor: string;
  readonly key: string;
}

export interface ToldAlarm {
  readonly sensor: string;
  /** Key and device at the platform. */
  readonly key: string;
  readonly device: string;
  readonly value: JsonValue;
  /** Limits that are crossed with this value, and those that no longer are. */
  readonly raised: readonly RaisedAlarm[];
  readonly over: readonly RaisedAlarm[];
}

/**
 * The difference between two looks; undefined where there is none. An alarm that an earlier process has told goes on, or is over: its limit is not
 * known here.
 */
export function alarmChange(
  before: readonly RaisedAlarm[],
  now: readonly RaisedAlarm[],
  wasRaised: boolean,
): Pick<ToldAlarm, 'raised' | 'over'> | undefined {
  const isOfBefore = wasRaised && before.length === 0;
  if (isOfBefore)
    return now.length === 0 ? { raised: [], over: [{ name: 'raised before the start', sinceMs: 0 }] } : undefined;
  const without = (all: readonly RaisedAlarm[], others: readonly RaisedAlarm[]): readonly RaisedAlarm[] =>
    all.filter(({ name }) => !others.some((other) => other.name === name));
  const [raised, over] = [without(now, before), without(before, now)];
  return raised.length + over.length === 0 ? undefined : { raised, over };
}
