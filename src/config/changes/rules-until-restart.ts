/**
 * Local rules are taken up by a reload, and actuators by a restart only. A rule whose actuator is another one now, is new or is gone waits for
 * the restart with it: until then the one before goes on, as its actuator does. It can be switched off and on all the same, and taken out: what
 * it has set is taken back while its actuator is still there.
 */
import type { ActuatorConfig, AgentConfig, RuleConfig } from '../schema/agent-config.ts';
import { changedItems } from './config-diff.ts';

export interface RulesBefore {
  /** The actuators as they were opened. */
  readonly opened: readonly ActuatorConfig[];
  /** The rules that went so far. */
  readonly rules: readonly RuleConfig[];
}

/** The rules to go by with this configuration: its own, where nothing waits. */
export function rulesUntilRestart(
  { opened, rules: before }: RulesBefore,
  { actuators, rules }: AgentConfig,
): readonly RuleConfig[] {
  const { added, removed, changed } = changedItems(
    opened,
    actuators.filter(({ enabled }) => enabled),
  );
  const waiting = new Set([...added, ...removed, ...changed].map(({ name }) => name));
  const waits = ({ set }: RuleConfig): boolean => waiting.has(set.actuator);
  const taken = new Set(rules.filter((rule) => !waits(rule)).map(({ name }) => name));
  const kept = before.filter(
    (rule) => waits(rule) && !taken.has(rule.name) && opened.some(({ name }) => name === rule.set.actuator),
  );
  return rules.flatMap((rule) => {
    const old = kept.find(({ name }) => name === rule.name);
    return old === undefined ? (waits(rule) ? [] : [rule]) : [{ ...old, enabled: rule.enabled }];
  });
}
