/**
 * Alarm thresholds of one key, with hysteresis: a value that trembles at the limit raises one alarm, not a hundred. What was said before
 * this object was made is not known, so the first value always says how it is.
 */
import type { KeyRulesConfig } from '../config/schema/agent-config.ts';

/** Exactly one of `above` and `below`; `hysteresis` is 0 and `name` is "above 40" where they are missing. */
export type Threshold = Partial<NonNullable<KeyRulesConfig['alarms']>[number]>;

/** Value of `<key>_alarm` when no threshold is crossed. */
export const ALARM_CLEAR = 'ok';
/** Its value once nobody measures any more. */
export const ALARM_REMOVED = 'removed';

export class AlarmThresholds {
  /** Undefined until the first value. */
  #raised: ReadonlySet<string> | undefined;

  get isRaised(): boolean {
    return this.#raised !== undefined && this.#raised.size > 0;
  }

  /** The names of the alarms that are on, comma separated, or "ok", when that is new with this value; undefined when it is not. */
  evaluate(value: number | bigint, thresholds: readonly Threshold[]): string | undefined {
    const before = this.#raised;
    const raised = new Set(
      thresholds.filter((threshold) => isRaised(value, threshold, before?.has(nameOf(threshold)) === true)).map(nameOf),
    );
    const isNew =
      before === undefined ? thresholds.length > 0 : raised.size !== before.size || [...raised].some((name) => !before.has(name));
    this.#raised = raised;
    if (!isNew) return undefined;
    return raised.size === 0 ? ALARM_CLEAR : [...raised].join(', ');
  }
}

function nameOf(threshold: Threshold): string {
  return threshold.name ?? (threshold.above === undefined ? `below ${threshold.below}` : `above ${threshold.above}`);
}

function isRaised(value: number | bigint, threshold: Threshold, wasRaised: boolean): boolean {
  const slack = wasRaised ? (threshold.hysteresis ?? 0) : 0;
  if (threshold.above !== undefined) return value > threshold.above - slack;
  return value < (threshold.below ?? Number.NEGATIVE_INFINITY) + slack;
}
