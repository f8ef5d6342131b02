/** Parts of local rules: the comparisons and times of their conditions, and the readings of their curves, each with its place. */

import type { ConditionConfig } from '../fields/conditions.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import type { RuleConfig } from '../schema/agent-config.ts';

/** A condition that holds no other one. */
export interface RulePart {
  readonly condition: ConditionConfig;
  readonly path: ConfigPath;
  /** It stands below an odd number of `not`. */
  readonly isNegated: boolean;
}

/** A sensor's value by which a rule goes. */
export interface RuleReading {
  readonly sensor: string;
  readonly key: string;
  /** Where both are written. */
  readonly path: ConfigPath;
  /** Undefined for a curve. */
  readonly condition?: ConditionConfig;
}

/** The conditions that it is made of, or itself. */
export function partsOf(condition: ConditionConfig, path: ConfigPath = [], isNegated = false): readonly RulePart[] {
  const parts = childrenOf(condition, path).flatMap(({ condition: one, path: at, isNot }) =>
    partsOf(one, at, isNegated !== isNot),
  );
  return parts.length > 0 ? parts : [{ condition, path, isNegated }];
}

/** The conditions directly below one. */
export function childrenOf(
  { all = [], any = [], not }: ConditionConfig,
  path: ConfigPath,
): readonly (Pick<RulePart, 'condition' | 'path'> & { readonly isNot: boolean })[] {
  const several = Object.entries({ all, any }).flatMap(([word, list]) =>
    list.map((condition, index) => ({ condition, path: [...path, word, index], isNot: false })),
  );
  return not === undefined ? several : [...several, { condition: not, path: [...path, 'not'], isNot: true }];
}

/** @param path of the rule's section. */
export function readingsOf(
  { when, set }: Pick<RuleConfig, 'when' | 'set'>,
  path: ConfigPath = [],
): readonly RuleReading[] {
  const parts = when === undefined ? [] : partsOf(when, [...path, 'when']);
  const compared = parts.flatMap(({ condition, path: at }) => {
    const { sensor, key } = condition;
    return sensor === undefined || key === undefined ? [] : [{ sensor, key, path: at, condition }];
  });
  const { curve } = set;
  return curve === undefined
    ? compared
    : [...compared, { sensor: curve.sensor, key: curve.key, path: [...path, 'set', 'curve'] }];
}
