/**
 * One value of a read that gives several: a reading, or why there is none. What a chip marks as none, or shows at the end of its range, is
 * left out alone; a read fails as a whole only when nothing of it is left.
 */
import { AgentError } from '../../errors/agent-error.ts';
import type { Reading, Refusal } from './sensor.ts';
import { sensorFault } from './sensor-fault.ts';

export type Outcome = Reading | Refusal;

/** The reading, or its refusal; a number as large as `1e999` is refused. What is no AgentError is a fault of the program, and thrown on. */
export function outcomeOf(key: string, give: () => Reading): Outcome {
  try {
    const reading = give();
    const { value } = reading;
    if (typeof value === 'number' && Math.abs(value) === Number.POSITIVE_INFINITY)
      throw sensorFault('no-value', 'a number larger than can be held');
    return reading;
  } catch (fault) {
    if (fault instanceof AgentError) return { key, fault };
    throw fault;
  }
}

/** @throws the first refusal's fault when there is nothing but refusals. */
export function sorted(outcomes: readonly Outcome[]): {
  readonly readings: readonly Reading[];
  readonly refused: readonly Refusal[];
} {
  const readings = outcomes.filter((outcome): outcome is Reading => !('fault' in outcome));
  const refused = outcomes.filter((outcome) => 'fault' in outcome);
  if (readings.length === 0 && refused[0] !== undefined) throw refused[0].fault;
  return { readings, refused };
}
