/**
 * Alarm thresholds of one key, with hysteresis: a value that trembles at the limit raises one alarm, not a hundred. One with a time of its own is
 * raised by the first value at which its limit has been passed for so long without a value within it; missing values do not begin the time anew.
 * The first value always says how it is, as what the platform has of a life before is not known for certain.
 */
import { conditionWords, evaluate, isOfTime, timeHolds, valueHolds } from '../config/keys/condition-truth.ts';
import { partsOf } from '../config/keys/rule-parts.ts';
import type { ConditionConfig, KeyRulesConfig } from '../config/schema/agent-config.ts';
import type { LocalTime } from '../host/local-time.ts';
import type { JsonValue } from '../values/json.ts';
import type { AcknowledgedAlarm, Acknowledgement } from './acknowledgement.ts';

/** A condition of the key's own value; `hysteresis` is 0 and `name` is "above 40" where they are missing. */
export type Threshold = Partial<NonNullable<KeyRulesConfig['alarms']>[number]>;

/** Value of `<key>_alarm` when no threshold is crossed. */
export const ALARM_CLEAR = 'ok';
/** Its value once nobody measures any more. */
export const ALARM_REMOVED = 'removed';

/** An alarm that is on. */
export interface RaisedAlarm {
  readonly name: string;
  /** Shown to people in place of the name. */
  readonly label?: string | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly equal?: boolean | number | string | undefined;
  /** Its condition in words: `above 40`, `above 40 and from 22:00 to 06:00`. */
  readonly limit: string;
  /** Monotonic ms of the value that raised it, or of the first one since the start. */
  readonly sinceMs: number;
  /** Raised by the first value since the start: it may have been on before. */
  readonly isFromStart?: true | undefined;
  /** First acknowledgement; absent until somebody acknowledges it. */
  readonly acknowledged?: Acknowledgement | undefined;
}

/** Circumstances of a value. */
interface Moment {
  /** Monotonic ms. */
  readonly atMs?: number;
  /** Names of the alarms that were on before the first value. */
  readonly stood?: readonly string[];
  /** Those of them that were acknowledged. */
  readonly acknowledged?: readonly AcknowledgedAlarm[];
  /** Undefined while the clock is not known to be right: hours, weekdays and dates count as so then. Asked for by those alone. */
  readonly localTime?: (() => LocalTime | undefined) | undefined;
}

export class AlarmThresholds {
  /** By name; undefined until the first value. */
  #raised: ReadonlyMap<string, RaisedAlarm> | undefined;
  /** By name, monotonic ms of the first value past the limit of each that waits for its time. */
  #passedSince: ReadonlyMap<string, number> = new Map();
  #thresholds: readonly Threshold[] = [];

  get isRaised(): boolean {
    return this.#raised !== undefined && this.#raised.size > 0;
  }

  /** Alarms that are on. */
  get raised(): readonly RaisedAlarm[] {
    return [...(this.#raised?.values() ?? [])];
  }

  /**
   * The names of the alarms that are on, comma separated, or "ok", when that is new with this value; undefined when it is not. `stood`: names
   * of those that were on before the first value, so that their time is over.
   */
  evaluate(
    value: JsonValue,
    thresholds: readonly Threshold[],
    { atMs = 0, stood = [], acknowledged = [], localTime }: Moment = {},
  ): string | undefined {
    const before = this.#raised;
    const raised = new Map<string, RaisedAlarm>();
    const passedSince = new Map<string, number>();
    for (const [at, threshold] of thresholds.entries()) {
      const name = nameOf(threshold);
      const formerName = this.#formerName(at, thresholds) ?? '';
      const known = before?.get(name) ?? before?.get(formerName);
      if (!holds(threshold, { value, localTime, isOn: known !== undefined })) continue;
      const { label, above, below, equal, forMs = 0 } = threshold;
      const limit = conditionWords(conditionOf(threshold));
      const sinceMs = this.#passedSince.get(name) ?? this.#passedSince.get(formerName) ?? atMs;
      const isFromStart = before === undefined ? (true as const) : undefined;
      if (known !== undefined) raised.set(name, { ...known, name, label, above, below, equal, limit });
      else if (atMs - sinceMs >= forMs || (before === undefined && stood.includes(name)))
        raised.set(name, {
          name,
          label,
          above,
          below,
          equal,
          limit,
          sinceMs: atMs,
          isFromStart,
          acknowledged: before === undefined ? acknowledgementOf(name, acknowledged) : undefined,
        });
      else passedSince.set(name, sinceMs);
    }
    this.#passedSince = passedSince;
    const isNew =
      before === undefined
        ? thresholds.length > 0
        : raised.size !== before.size || [...raised.keys()].some((name) => !before.has(name));
    this.#raised = raised;
    this.#thresholds = thresholds;
    if (!isNew) return undefined;
    return raised.size === 0 ? ALARM_CLEAR : [...raised.keys()].join(', ');
  }

  /** Marks these alarms, where they are on and not acknowledged yet. Returns those that it marked. */
  acknowledge(names: readonly string[], acknowledged: Acknowledgement): readonly RaisedAlarm[] {
    const marked = this.raised.flatMap((alarm) =>
      alarm.acknowledged === undefined && names.includes(alarm.name) ? [{ ...alarm, acknowledged }] : [],
    );
    const byName = new Map(marked.map((alarm) => [alarm.name, alarm]));
    this.#raised = new Map(this.raised.map((alarm) => [alarm.name, byName.get(alarm.name) ?? alarm]));
    return marked;
  }

  /** Returns what a changed threshold without a name of its own was called before: the one in its place, on its side. */
  #formerName(at: number, thresholds: readonly Threshold[]): string | undefined {
    const [before, now] = [this.#thresholds[at], thresholds[at]];
    if (before === undefined || now === undefined) return undefined;
    if (formOf(before) === undefined || formOf(before) !== formOf(now)) return undefined;
    const name = nameOf(before);
    return thresholds.some((one) => nameOf(one) === name) ? undefined : name;
  }
}

/** True when an alarm may begin or end with a value that is no number. */
export function comparesAnything(threshold: Threshold): boolean {
  return partsOf(conditionOf(threshold)).some(({ condition }) => condition.equal !== undefined);
}

function acknowledgementOf(name: string, acknowledged: readonly AcknowledgedAlarm[]): Acknowledgement | undefined {
  const found = acknowledged.find((one) => one.name === name);
  return found && { by: found.by, atMs: found.atMs };
}

function nameOf(threshold: Threshold): string {
  return threshold.name ?? conditionWords(conditionOf(threshold));
}

function conditionOf(threshold: Threshold): ConditionConfig {
  return { ...threshold, hysteresis: threshold.hysteresis ?? 0 };
}

/** The worse possibility counts: what is not known to be otherwise is so. */
function holds(
  threshold: Threshold,
  { value, localTime, isOn }: Pick<Moment, 'localTime'> & { readonly value: JsonValue; readonly isOn: boolean },
): boolean {
  const condition = conditionOf(threshold);
  const negated = new Set(partsOf(condition).flatMap((part) => (part.isNegated ? [part.condition] : [])));
  const truth = evaluate(condition, (part) => {
    if (isOfTime(part)) {
      const now = localTime?.();
      return now === undefined ? 'unread' : timeHolds(part, now);
    }
    return valueHolds(part, value, isOn !== negated.has(part));
  });
  return truth !== false;
}

/** Form of a threshold of one comparison; others have none in common. */
function formOf({ above, below, equal }: Threshold): string | undefined {
  if (above !== undefined) return 'above';
  if (below !== undefined) return 'below';
  return equal === undefined ? undefined : 'equal';
}
