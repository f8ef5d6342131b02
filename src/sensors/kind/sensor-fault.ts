/** Faults of this room: what a sensor says when it has no reading to give. All of them are worth another try. */
import { rangeText } from '../../config/fields/range-text.ts';
import { type AgentError, retryable } from '../../errors/agent-error.ts';

/** @param fault after `sensors/`: `wrong-chip`, `bad-reading`, `out-of-range`, `silent` … */
export function sensorFault(fault: string, message: string, cause?: unknown): AgentError {
  return retryable(`sensors/${fault}`, message, cause);
}

/**
 * The value, when the chip can mean it.
 * @throws AgentError `sensors/out-of-range` (retry): a loose wire and a dying chip deliver numbers too.
 */
export function withinRange(key: string, value: number, [least, greatest]: readonly [number, number]): number {
  if (value >= least && value <= greatest) return value;
  throw sensorFault('out-of-range', `${key} ${value} is outside the sensor's range of ${rangeText(least, greatest)}`);
}
