/** A rule with what it has to know of its sensors, and what its output has to know of it. */
import type { RuleConfig } from '../config/schema/agent-config.ts';
import type { RuleWords } from './priority-slots.ts';

/** A sensor as a rule has to know it. */
export interface RuleSensor {
  /** How long after its last value it is lost; infinite where only its driver says so. */
  readonly lostAfterMs: number;
  /** Its values come when something happens, so that one that fails has lost what it said. */
  readonly isByEvent: boolean;
}

/** A rule whose sensors are sampled. */
export interface RuleInForce extends RuleConfig {
  readonly sensors: Readonly<Record<string, RuleSensor>>;
}

/** Returns the slots' view of the rules that are switched on, in the order of the file. */
export function ruleWords(rules: readonly RuleInForce[]): ReadonlyMap<string, readonly RuleWords[]> {
  return Map.groupBy(
    rules.filter(({ enabled }) => enabled).map((rule) => ({ actuator: rule.set.actuator, ...wordsOf(rule) })),
    ({ actuator }) => actuator,
  );
}

function wordsOf({ name, when, set, otherwise, protect, sensorLost, lostAfterMs }: RuleInForce): RuleWords {
  const version = JSON.stringify([when, set, otherwise, protect, sensorLost, lostAfterMs]);
  return {
    name,
    protect,
    // A curve says nothing before its first reading.
    set: set.value ?? set.curve?.points[0]?.[1] ?? 0,
    isCurve: set.curve !== undefined,
    otherwise,
    sensorLost,
    version,
  };
}
