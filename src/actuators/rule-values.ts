/** The values that one rule goes by: each part of its condition, and the reading of its curve; and what the rule is by them. */

import { isDeepStrictEqual } from 'node:util';
import { decided, evaluate, type Truth, timeHolds, valueHolds } from '../config/keys/condition-truth.ts';
import { partsOf } from '../config/keys/rule-parts.ts';
import type { ConditionConfig } from '../config/schema/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { LocalTime } from '../host/local-time.ts';
import type { JsonValue } from '../values/json.ts';
import { type ActuatorSettings, type ActuatorValue, nearestValue } from './kind/actuator.ts';
import type { RuleSlot } from './priority-slots.ts';
import { curveValue } from './rule-curve.ts';
import type { RuleInForce } from './rule-in-force.ts';
import { MISSED_VALUES, WatchedValue } from './watched-value.ts';

export interface RuleValue {
  /** Undefined for the clock. */
  readonly sensor: string | undefined;
  readonly key: string | undefined;
  /** Undefined for the reading of a curve. */
  readonly condition: ConditionConfig | undefined;
  readonly isNegated: boolean;
  readonly watched: WatchedValue;
}

/** The clock says a word each minute, as a sensor does. */
export const MINUTE_MS = 60_000;

export class RuleValues {
  readonly all: readonly RuleValue[];
  readonly goesByTime: boolean;
  readonly #config: RuleInForce;
  /** The last one of the curve. */
  #reading = 0;

  constructor(config: RuleInForce, clock: Clock, onLost: () => void) {
    this.#config = config;
    const { when, set, sensors, enabled } = config;
    const parts = when === undefined ? [] : partsOf(when);
    const curve = set.curve === undefined ? [] : [{ ...set.curve, condition: undefined, isNegated: false }];
    const read = [
      ...parts.map((part) => ({ ...part, sensor: part.condition.sensor, key: part.condition.key })),
      ...curve,
    ];
    this.all = (enabled ? read : []).map(({ sensor, key, condition, isNegated }) => {
      const { lostAfterMs = MISSED_VALUES * MINUTE_MS } = sensors[sensor ?? ''] ?? {};
      return { sensor, key, condition, isNegated, watched: new WatchedValue({ clock, lostAfterMs, onLost }) };
    });
    this.goesByTime = this.all.some(({ sensor }) => sensor === undefined);
  }

  /** Truth of the rule now: a curve has to have its reading, too. */
  get truth(): Truth {
    const { when, set } = this.#config;
    const truthOf = (part?: ConditionConfig): Truth =>
      this.all.find(({ condition }) => condition === part)?.watched.truth ?? 'unread';
    const isSo = when === undefined ? true : evaluate(when, truthOf);
    return set.curve === undefined ? isSo : decided([isSo, truthOf()], false);
  }

  /** A value has come; undefined when it says nothing. @param phase of the rule, by which its comparisons held before a start. */
  take(
    { condition, isNegated, watched }: RuleValue,
    value: JsonValue | undefined,
    phase: RuleSlot['phase'] | undefined,
  ): void {
    if (value === undefined) watched.heard(undefined);
    else watched.heard(this.#says({ condition, isNegated }, value, { truth: watched.truth, phase }), value);
  }

  /** Goes on with what is known of the same values under another condition. */
  follow(before: RuleValues, phase: RuleSlot['phase'] | undefined): void {
    for (const [at, one] of this.all.entries()) {
      const known = before.all.filter(({ sensor, key }) => sensor === one.sensor && key === one.key);
      const same =
        known.find(({ condition }) => isDeepStrictEqual(condition, one.condition)) ??
        known.find((each) => each === before.all[at]) ??
        known[0];
      if (same === undefined) continue;
      const { value, truth } = same.watched;
      one.watched.follow(same.watched, value === undefined ? undefined : this.#says(one, value, { truth, phase }));
    }
  }

  takeTime(now: LocalTime): void {
    for (const { sensor, condition, watched } of this.all)
      if (sensor === undefined && condition !== undefined) watched.heard(timeHolds(condition, now));
  }

  /** The value for its reading; undefined without a curve. */
  onCurve({ limits, ...settings }: ActuatorSettings, slot: RuleSlot | undefined): ActuatorValue | undefined {
    const { curve } = this.#config.set;
    if (curve === undefined) return undefined;
    const before = slot?.phase === 'set' && typeof slot.set === 'number' ? slot.set : undefined;
    const { step, min: origin = 0 } = limits;
    return nearestValue(settings, curveValue(curve.points, this.#reading, { before, step, origin }));
  }

  /** Idempotent. */
  end(): void {
    for (const { watched } of this.all) watched.end();
  }

  /** @param truth of the comparison so far; where it has none, the phase of the rule tells what held before a start. */
  #says(
    { condition, isNegated }: Pick<RuleValue, 'condition' | 'isNegated'>,
    value: JsonValue,
    { truth, phase }: { readonly truth: Truth; readonly phase: RuleSlot['phase'] | undefined },
  ): boolean | undefined {
    if (condition === undefined) return this.#takeReading(value);
    const heldAtStart = phase === 'set' ? !isNegated : phase === 'otherwise' && isNegated;
    return valueHolds(condition, value, typeof truth === 'boolean' ? truth : heldAtStart);
  }

  /** Returns the reading of a curve; one that is no number says nothing. */
  #takeReading(value: JsonValue): boolean | undefined {
    if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
    this.#reading = Number(value);
    return true;
  }
}
