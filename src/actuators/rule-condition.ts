/** What a value of a sensor says of a rule's condition. Pure. */
import type { RuleConfig } from '../config/agent-config.ts';
import type { JsonValue } from '../host/json.ts';

/** Whether the condition holds by this value; `on`: it held before, and the value must come back by the hysteresis. */
export function conditionHolds({ when }: Pick<RuleConfig, 'when'>, value: JsonValue, on: boolean): boolean {
  if (when.equal !== undefined) return (typeof value === 'bigint' ? Number(value) : value) === when.equal;
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const number = Number(value);
  const back = on ? when.hysteresis : 0;
  if (when.above !== undefined) return number > when.above - back;
  return when.below !== undefined && number < when.below + back;
}
