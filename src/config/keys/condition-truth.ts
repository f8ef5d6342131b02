/** Judges a condition by the values that are known: one that is decided without a value does not wait for it, and is not lost with it. Pure. */

import { isWithinDates, isWithinHours, type LocalTime } from '../../host/local-time.ts';
import type { JsonValue } from '../../values/json.ts';
import type { ConditionConfig } from '../fields/conditions.ts';

/** `unread`: a value has not come yet; `lost`: one no longer comes. */
export type Truth = boolean | 'unread' | 'lost';

/** @param truthOf a condition that holds no other one. */
export function evaluate(condition: ConditionConfig, truthOf: (part: ConditionConfig) => Truth): Truth {
  const { all, any, not } = condition;
  const each = (parts: readonly ConditionConfig[]): readonly Truth[] => parts.map((part) => evaluate(part, truthOf));
  if (all !== undefined) return decided(each(all), false);
  if (any !== undefined) return decided(each(any), true);
  if (not === undefined) return truthOf(condition);
  const truth = evaluate(not, truthOf);
  return typeof truth === 'boolean' ? !truth : truth;
}

/** Joins the values of several conditions: one that is so decides. */
export function decided(parts: readonly Truth[], so: boolean): Truth {
  if (parts.includes(so)) return so;
  return parts.find((part) => part === 'lost') ?? parts.find((part) => part === 'unread') ?? !so;
}

/** Comparison of a value with a limit: one of the three. */
export type Comparison = Pick<ConditionConfig, 'above' | 'below' | 'equal'> & {
  readonly hysteresis?: number | undefined;
};

/** Words of a comparison, for rules and alarms: `above 5`, `below -2`, `equal to open`; on and off where it is true or false. */
function comparisonWords({ above, below, equal }: Comparison): string {
  if (equal !== undefined) return `equal to ${typeof equal === 'boolean' ? (equal ? 'on' : 'off') : equal}`;
  return above === undefined ? `below ${below}` : `above ${above}`;
}

/**
 * Words of a whole condition: `above 5 and from 22:00 to 06:00`.
 * @param depth Levels above it: parts of one are put in brackets.
 */
export function conditionWords(condition: ConditionConfig, depth = 0): string {
  const { all, any, not, time, weekdays, dates } = condition;
  const joined = (parts: readonly ConditionConfig[], word: string): string => {
    const words = parts.map((part) => conditionWords(part, depth + 1)).join(word);
    return depth === 0 || parts.length === 1 ? words : `(${words})`;
  };
  if (all !== undefined) return joined(all, ' and ');
  if (any !== undefined) return joined(any, ' or ');
  if (not !== undefined) return `not ${conditionWords(not, depth + 1)}`;
  if (time !== undefined) return `from ${time.from} to ${time.to}`;
  if (weekdays !== undefined) return `on ${weekdays.join(', ')}`;
  if (dates !== undefined) return `from ${dates.from} to ${dates.to}`;
  return comparisonWords(condition);
}

/** True of hours, weekdays and dates. */
export function isOfTime({ time, weekdays, dates }: ConditionConfig): boolean {
  return time !== undefined || weekdays !== undefined || dates !== undefined;
}

/** Says that a comparison holds by this value; `on`: it held before, and the value must come back by the hysteresis. */
export function valueHolds(
  { above, below, equal, hysteresis = 0 }: Comparison,
  value: JsonValue,
  on: boolean,
): boolean {
  if (equal !== undefined) return (typeof value === 'bigint' ? Number(value) : value) === equal;
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const back = on ? hysteresis : 0;
  if (above !== undefined) return value > above - back;
  return below !== undefined && value < below + back;
}

/** Says that hours, weekdays or dates hold. */
export function timeHolds({ time, weekdays, dates }: ConditionConfig, now: LocalTime): boolean {
  if (time !== undefined) return isWithinHours(time, now);
  if (dates !== undefined) return isWithinDates(dates, now);
  return weekdays?.includes(now.weekday) === true;
}
