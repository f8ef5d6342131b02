/** Alarm thresholds of one key, with hysteresis: a value that trembles at the limit raises one alarm, not a hundred. */

/** Exactly one of `above` and `below`. */
export interface Threshold {
  /** Raised when the value is greater than this. */
  readonly above?: number;
  /** Raised when the value is less than this. */
  readonly below?: number;
  /** How far the value must come back before the alarm clears; default 0. */
  readonly hysteresis?: number;
  /** What the alarm is called; default "above 40". */
  readonly name?: string;
}

/** What `<key>_alarm` says when no threshold is crossed. */
const CLEAR = 'ok';

export class AlarmThresholds {
  #raised: ReadonlySet<string> = new Set();

  /** The names of the alarms that are on, comma separated, or "ok", when that changed with this value; undefined when it did not. */
  evaluate(value: number, thresholds: readonly Threshold[]): string | undefined {
    const raised = new Set(thresholds.filter((threshold) => isRaised(value, threshold, this.#raised.has(nameOf(threshold)))).map(nameOf));
    const changed = raised.size !== this.#raised.size || [...raised].some((name) => !this.#raised.has(name));
    this.#raised = raised;
    if (!changed) return undefined;
    return raised.size === 0 ? CLEAR : [...raised].join(', ');
  }
}

function nameOf(threshold: Threshold): string {
  return threshold.name ?? (threshold.above === undefined ? `below ${threshold.below}` : `above ${threshold.above}`);
}

function isRaised(value: number, threshold: Threshold, wasRaised: boolean): boolean {
  const slack = wasRaised ? (threshold.hysteresis ?? 0) : 0;
  if (threshold.above !== undefined) return value > threshold.above - slack;
  return threshold.below !== undefined && value < threshold.below + slack;
}
