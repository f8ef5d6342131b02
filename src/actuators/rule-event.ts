/** Edge of a rule, for telemetry. */
import type { Told } from '../errors/sentence.ts';

export interface RuleEvent {
  readonly rule: string;
  readonly on: boolean;
  /** Undefined when the actuator was set, or there was nothing to set. */
  readonly refusal?: string;
  /** The refusal as a sentence, where it is one. */
  readonly told?: Told;
  /** True when the refusal tells only that the outcome of the write is not known. */
  readonly isUnknown?: boolean;
  /** True when its condition has held since before the start: it is no edge. */
  readonly isKept?: boolean;
}
